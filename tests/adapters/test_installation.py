"""The command that adds an extra is one that works for how Veriformer was installed, before a release too."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from veriformer.adapters.errors import install_hint
from veriformer.adapters.installation import installation, installed_from

PYTHON = "/home/me/.venv/bin/python"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "a clone"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    return folder


def record(folder: Path, **info: bool) -> str:
    return json.dumps({"url": folder.as_uri(), "dir_info": info})


def test_from_a_clone(clone: Path) -> None:
    found = installed_from(record(clone), python=PYTHON)
    assert (found.clone, found.editable) == (clone, False)
    constraints = str(clone / "constraints.txt")
    assert shlex.split(found.install("torch")) == [
        *(PYTHON, "-m", "pip", "install", "--constraint", constraints),
        f"{clone}[torch]",
    ]


def test_an_editable_installation_stays_editable(clone: Path) -> None:
    command = shlex.split(installed_from(record(clone, editable=True), python=PYTHON).install("docs"))
    assert command[-4:] == ["--editable", f"{clone}[docs]", "--config-settings", "editable_mode=strict"]


def test_from_an_address_of_a_repository() -> None:
    origin = {"url": "https://h.org/v.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    command = shlex.split(installed_from(json.dumps(origin), python=PYTHON).install("torch"))
    assert command[-1] == "veriformer[torch] @ git+https://h.org/v.git@abc"


def test_from_a_wheel_that_lies_somewhere(tmp_path: Path) -> None:
    origin = {"url": "file:///tmp/veriformer.whl", "archive_info": {}}
    assert shlex.split(installed_from(json.dumps(origin), python=PYTHON).install())[-1] == (
        "veriformer @ file:///tmp/veriformer.whl"
    )


@pytest.mark.parametrize("origin", [None, '{"url": "file:///surely/not/there", "dir_info": {}}'])
def test_from_an_index_or_a_clone_that_is_gone(origin: str | None) -> None:
    found = installed_from(origin, python=PYTHON)
    assert found.clone is None
    assert found.install("torch") == f"{PYTHON} -m pip install 'veriformer[torch]'"


def test_where_there_is_no_pip() -> None:
    found = installed_from(None, python=PYTHON, with_pip=False)
    assert found.install("torch") == f"uv pip install --python {PYTHON} 'veriformer[torch]'"


def test_messages_name_this_command() -> None:
    assert install_hint("torch") == installation().install("torch")
    assert install_hint("numpy") == installation().install()
