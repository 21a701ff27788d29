"""`veriformer docs` opens the documentation, or says where it is, or how to make it."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import pytest
from click.testing import CliRunner
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


def test_documentation_that_is_not_there_is_an_error_that_says_how_to_build_it(page: Path) -> None:
    page.unlink()
    with pytest.raises(UserError, match=r"python docs/build\.py"):
        documentation.first_page()


def test_it_is_looked_for_beside_the_rooms() -> None:
    root = Path(documentation.__file__).resolve().parents[1]
    assert root / "documentation" / "index.html" == documentation._FIRST_PAGE
