"""`veriformer docs`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from veriformer.cli.failures import UserError

if TYPE_CHECKING:
    from veriformer.adapters.installation import Installation

# Beside the rooms, in an installation as in a checkout.
_FIRST_PAGE = Path(__file__).resolve().parents[1] / "documentation" / "index.html"
# What the extra `docs` installs.
_BUILDERS = ("sphinx", "furo", "myst_parser")

Build = Callable[[Path], None]


@click.command("docs", short_help="Open the documentation in a browser.")
@click.option("--path", "path_only", is_flag=True, help="Print where its first page lies, and open nothing.")
@click.option("--no-build", is_flag=True, help="Build nothing; where there is no documentation, name the command.")
def docs_command(path_only: bool, no_build: bool) -> None:
    """Open the documentation in a browser: how to use the program, every law with its proof, every mistake.

    A wheel holds it. With the extra "docs", an installation from a clone builds it in the clone when it is first asked
    for, which takes minutes; without that, the command that installs and builds is printed. It needs no network.
    Without a screen, its path is printed.
    """
    import webbrowser

    from veriformer.adapters.installation import installation
    from veriformer.cli.output import printing

    page = first_page(installation(), build=None if no_build or not _can_build() else _build)
    if path_only or not _has_a_screen() or not webbrowser.open(page.as_uri()):
        with printing():
            click.echo(str(page))


def first_page(found: Installation, build: Build | None = None) -> Path:
    """Return the first page of the documentation, which `build` makes in the clone; UserError where there is none."""
    if _FIRST_PAGE.is_file():
        return _FIRST_PAGE
    if found.clone is None:
        raise UserError(
            f"there is no documentation at {_FIRST_PAGE}: it was not built before this wheel; "
            "run python docs/build.py in a clone, and install from there"
        )
    page = found.clone / "documentation" / "index.html"
    if not page.is_file() and build is not None:
        build(found.clone)
    if not page.is_file():
        raise UserError(
            "the documentation is not built. This installs what builds it, and builds it, in about ten minutes:\n"
            f"  {_command(found)}"
        )
    return page


def _command(found: Installation) -> str:
    """Return the command that builds the documentation in the clone of an installation."""
    from veriformer.adapters.installation import command_line

    return f"{found.install('docs')} && {command_line(found.python, str(_script(found.clone or Path())))}"


def _script(clone: Path) -> Path:
    return clone / "docs" / "build.py"


def _can_build() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in _BUILDERS)


def _build(clone: Path) -> None:
    """Build the site of a clone, with what Sphinx says on stderr; leave no site behind that is not whole."""
    import shutil
    import subprocess

    click.echo(f"Building the documentation in {clone}, once. This takes about ten minutes.", err=True)
    unfinished = clone / "build" / "unfinished_documentation"
    shutil.rmtree(unfinished, ignore_errors=True)
    # The pages in docs/ are the clone's own: --check leaves them alone.
    command = (sys.executable, str(_script(clone)), "--check", "--folder", str(unfinished))
    status = subprocess.run(command, cwd=clone, stdout=sys.stderr.fileno(), check=False).returncode
    # Sphinx writes this inventory last.
    if not (unfinished / "objects.inv").is_file():
        raise UserError(f"{_script(clone)} ended with status {status} and without documentation; it says why above")
    if status:
        click.echo("Note: the documentation has the faults named above", err=True)
    shutil.rmtree(clone / "documentation", ignore_errors=True)
    unfinished.rename(clone / "documentation")


def _has_a_screen() -> bool:
    """Return whether a browser has somewhere to appear; a browser in the terminal would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
