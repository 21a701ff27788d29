"""Options that several commands have, and checking and writing the file that one of them names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from veriformer.cli.failures import UserError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

OPERATION = click.option(
    "--operation", "operations", multiple=True, metavar="NAME", help="Only this operation (repeatable)."
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same cases.")
COLOR = click.option("--color/--no-color", default=True, help="Colours on a terminal.")


def tier_option(meaning: str) -> Decorator:
    """Return `--tier`."""
    tiers = click.Choice(("quick", "standard", "thorough"))
    return click.option("--tier", type=tiers, default="standard", show_default=True, help=meaning)


def file_option(*names: str, meaning: str) -> Decorator:
    """Return an option that takes a file."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar="FILE", help=meaning, callback=_refuse_standard_output)


def _refuse_standard_output(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Return the path; BadParameter for "-", by which other programs mean the standard output."""
    if path is not None and str(path) == "-":
        message = "the report for people goes to the standard output, so that this needs a file: name one"
        raise click.BadParameter(message, param=option)
    return path


def flag(*names: str, meaning: str) -> Decorator:
    """Return a flag."""
    return click.option(*names, is_flag=True, help=meaning)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a UserError about the file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}", error) from error


def refuse_unwritable(path: Path | None, sources: Sequence[str] = ()) -> None:
    """Raise UserError before the run if its result cannot be written, or would replace one of its sources."""
    if path is None:
        return
    with writing(path):
        if sources and path.exists() and (path.suffix == ".py" or any(_is_same(path, source) for source in sources)):
            raise UserError(f"cannot write {path}: the run reads it, or it is a program; name another file")
        if path.is_dir():
            raise UserError(f"cannot write {path}: it is a folder; name a file")
        if not path.resolve().parent.is_dir():
            raise UserError(f"cannot write {path}: there is no folder {path.parent}")
        path.exists()


def refuse_files(files: Mapping[str, Path | None], sources: Sequence[str] = (), resume: Path | None = None) -> None:
    """Raise UserError before the run if one of its results cannot be written, or if two options write the same file.

    `files` are by option. That of `--resume` is read first, and left as it is where it is no record of a run.
    """
    for path in files.values():
        refuse_unwritable(path, sources)
    refuse_unwritable(resume)
    written: dict[Path, str] = {}
    for name, path in {**files, "--resume": resume}.items():
        if path is None:
            continue
        other = written.setdefault(path.resolve(), name)
        if other != name:
            raise UserError(f"{other} and {name} both write {path}; give each a file of its own")


def _is_same(path: Path, source: str) -> bool:
    place = Path(source.rpartition(":")[0] if source.rpartition(":")[0].endswith(".py") else source)
    return place.exists() and place.samefile(path)
