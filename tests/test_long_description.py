"""What a package index shows: the README, with links that lead somewhere from there."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_of_veriformer", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_a_folder_a_picture_and_an_anchor_lead_into_the_repository(setup: ModuleType) -> None:
    text = "![What](docs/failure.svg) [page](docs/models.md#how) [`spec/`](spec) [here](#top) [out](https://x.org/a)"
    assert setup.long_description(text, "https://h.org/p", "1.2") == (
        "![What](https://h.org/p/raw/v1.2/docs/failure.svg) [page](https://h.org/p/blob/v1.2/docs/models.md#how) "
        "[`spec/`](https://h.org/p/tree/v1.2/spec) [here](#top) [out](https://x.org/a)"
    )


def test_code_stays_as_it_is(setup: ModuleType) -> None:
    code = "```python\nf = table[key](value)\n```"
    assert setup.long_description(code, "https://h.org/p", "1.2") == code


def test_no_link_of_the_readme_stays_relative(setup: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = setup.long_description(readme, PROJECT["urls"]["Source"], PROJECT["version"])
    prose = re.sub(r"^```.*?^```$", "", shown, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    assert len(targets) > 20
    assert all(target.startswith("https://") for target in targets)


def test_all_links_of_the_project_begin_with_one_address() -> None:
    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    assert all(address.startswith(PROJECT["urls"]["Source"]) for address in PROJECT["urls"].values())


def test_the_changelog_begins_with_the_version_that_is_built() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)[0] == PROJECT["version"]
