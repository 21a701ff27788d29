"""`veriformer learn notebooks`: the lessons as notebooks."""

from __future__ import annotations

from pathlib import Path

import click
from veriformer.cli.options import writing


@click.command("notebooks", short_help="Write the lessons as notebooks.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def notebooks_command(folder: Path) -> None:
    """Write every lesson as a notebook into DIR. Notebooks of the same names are replaced."""
    from veriformer.lessons.notebooks import write_notebooks

    with writing(folder):
        written = write_notebooks(folder)
    click.echo(f"{len(written)} notebooks written to {folder}. Begin with {written[0]}")
