"""`veriformer docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from veriformer.cli.failures import UserError

# Beside the rooms, in an installation as in a checkout.
_FIRST_PAGE = Path(__file__).resolve().parents[1] / "documentation" / "index.html"


@click.command("docs", short_help="Open the documentation in a browser.")
@click.option("--path", "path_only", is_flag=True, help="Print where its first page lies, and open nothing.")
def docs_command(path_only: bool) -> None:
    """Open the documentation in a browser: how to use the program, every law with its proof, every mistake.

    It is installed with the program and needs no network. Without a screen, its path is printed.
    """
    import webbrowser

    from veriformer.cli.output import printing

    page = first_page()
    if path_only or not _has_a_screen() or not webbrowser.open(page.as_uri()):
        with printing():
            click.echo(str(page))


def first_page() -> Path:
    """Return the first page of the documentation; UserError where this installation has none."""
    if not _FIRST_PAGE.is_file():
        raise UserError(
            f"there is no documentation at {_FIRST_PAGE}; a wheel holds it, a checkout builds it: "
            "pip install 'veriformer[docs]' and then python docs/build.py"
        )
    return _FIRST_PAGE


def _has_a_screen() -> bool:
    """Return whether a browser has somewhere to appear; a browser in the terminal would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
