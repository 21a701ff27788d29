"""`veriformer docs` opens the documentation, or says where it is, or how to make it."""

from __future__ import annotations

import shlex
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest
from click.testing import CliRunner
from veriformer.adapters.installation import Installation
from veriformer.cli import documentation
from veriformer.cli.documentation import docs_command
from veriformer.cli.failures import UserError


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    first = tmp_path / "index.html"
    first.write_text("<html></html>", encoding="utf-8")
    monkeypatch.setattr(documentation, "_FIRST_PAGE", first)
    monkeypatch.setenv("DISPLAY", ":0")
    return first


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_browser_opens_the_first_page(page: Path, opened: list[str]) -> None:
    run = CliRunner().invoke(docs_command, [])
    assert run.exit_code == 0
    assert opened == [page.as_uri()]
    assert run.output == ""


def test_the_path_is_printed_and_nothing_opened(page: Path, opened: list[str]) -> None:
    run = CliRunner().invoke(docs_command, ["--path"])
    assert run.output == f"{page}\n"
    assert opened == []


def test_without_a_screen_the_path_is_printed(page: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert CliRunner().invoke(docs_command, []).output == f"{page}\n"
    assert opened == []


def test_without_a_browser_the_path_is_printed(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert CliRunner().invoke(docs_command, []).output == f"{page}\n"


@pytest.fixture
def clone(page: Path, tmp_path: Path) -> Path:
    """Return a clone whose script makes a site of one page; the installation itself has none."""
    page.unlink()
    (tmp_path / "clone" / "docs").mkdir(parents=True)
    (tmp_path / "clone" / "docs" / "build.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path / "clone"


SCRIPT = """
import sys
from pathlib import Path

folder = Path(sys.argv[sys.argv.index("--folder") + 1])
folder.mkdir(parents=True)
for name in ("index.html", "objects.inv"):
    (folder / name).write_text(name)
print("made by a script")
"""


def test_a_wheel_without_documentation_says_so(page: Path) -> None:
    page.unlink()
    with pytest.raises(UserError, match=r"it was not built before this wheel; run python docs/build\.py"):
        documentation.first_page(Installation(sys.executable))


@pytest.mark.parametrize("editable", [False, True])
def test_from_a_clone_that_cannot_build_the_command_is_one_that_works_there(clone: Path, editable: bool) -> None:
    found = Installation(sys.executable, clone, editable)
    with pytest.raises(UserError) as caught:
        documentation.first_page(found)
    sentence, command = caught.value.message.splitlines()
    assert len(sentence) <= 120
    install, build = command.strip().split(" && ")
    assert install == found.install("docs")
    assert f"{clone}[docs]" in install
    assert subprocess.run([*shlex.split(build), "--folder", str(clone / "documentation")], check=True).returncode == 0
    assert documentation.first_page(found) == clone / "documentation" / "index.html"


def test_from_a_clone_it_is_built_once(clone: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = Installation(sys.executable, clone)
    first = documentation.first_page(found, documentation._build)
    assert first.read_text() == "index.html"
    out, err = capfd.readouterr()
    assert out == ""
    assert f"Building the documentation in {clone}, once." in err
    assert "made by a script" in err
    assert documentation.first_page(found, lambda _: pytest.fail("built again")) == first


def test_a_build_that_ends_early_leaves_no_site_and_is_no_obstacle(clone: Path) -> None:
    script = clone / "docs" / "build.py"
    script.write_text(SCRIPT.replace("objects.inv", "other") + "sys.exit(3)", encoding="utf-8")
    found = Installation(sys.executable, clone)
    with pytest.raises(UserError, match="ended with status 3 and without documentation"):
        documentation.first_page(found, documentation._build)
    assert not (clone / "documentation").exists()
    script.write_text(SCRIPT, encoding="utf-8")
    assert documentation.first_page(found, documentation._build).is_file()


def test_no_build_names_the_command(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from veriformer.adapters import installation as module

    monkeypatch.setattr(module, "installation", lambda: Installation(sys.executable, clone))
    run = CliRunner().invoke(docs_command, ["--path", "--no-build"])
    assert run.exit_code == 2
    assert "[docs]" in run.output.splitlines()[1]


def test_it_is_looked_for_beside_the_rooms() -> None:
    root = Path(documentation.__file__).resolve().parents[1]
    assert root / "documentation" / "index.html" == documentation._FIRST_PAGE
