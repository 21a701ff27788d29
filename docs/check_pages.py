"""Hold pages to what their commands print: README.md, docs/first_steps.md, docs/training.md and docs/porting.md.

    python docs/check_pages.py [PAGE ...]            compare; exit status 1 and a diff where a page is not current
    python docs/check_pages.py [PAGE ...] --write    bring the pages up to date
    python docs/check_pages.py --command N           print the N-th shell command of README.md

The blocks of a page are followed from the first to the last. In one of `console`, each line that begins with `$ ` is a
command, and its output follows; where the page ends it with a line of `…`, it is compared up to there. One of
`python file=PATH` is that file. One of `diff` changes a file for the commands below it.
A page is followed in the repository, docs/porting.md in a copy of docs/examples/port. Seconds differ from run to run
and roundings from machine to machine; they are compared as equal.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pages.patch import apply_patch

ROOT = Path(__file__).resolve().parent.parent
README = "README.md"
# Each page with the folder that its reader copies to follow it, or nothing where the repository is that folder.
PAGES: dict[str, str] = {
    README: "",
    "docs/first_steps.md": "",
    "docs/training.md": "",
    "docs/porting.md": "docs/examples/port",
}
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_CUT = "…"
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")
_ROUNDING = re.compile(r"\b\d\.\de-\d\d of the")
# How long a run will take is said where it is long, which depends on the machine.
_PACE = re.compile(r" will take about .*: a (call|law) takes ")
_TIMEOUT = 900


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, write, or print a command; return the exit status."""
    asked = _parsed(arguments)
    if asked.command is not None:
        print(_shell_commands(_read(README))[asked.command - 1])
        return 0
    return max([_checked(name, write=asked.write) for name in asked.pages or PAGES])


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold pages to what their commands print.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"default: {', '.join(PAGES)}")
    parser.add_argument("--write", action="store_true", help="bring the pages up to date")
    parser.add_argument("--command", type=int, metavar="N", help="print the N-th shell command of README.md")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.pages) - set(PAGES):
        parser.error(f"{', '.join(sorted(unknown))}: no page with commands; there are {', '.join(PAGES)}")
    return asked


def _checked(name: str, *, write: bool) -> int:
    page = _read(name)
    current = brought_up_to_date(page, PAGES[name])
    if comparable(page) == comparable(current):
        print(f"{name} is current")
        return 0
    if write:
        (ROOT / name).write_text(current, encoding="utf-8")
        print(f"{name} was brought up to date")
        return 0
    sys.stdout.writelines(difference(page, current, name))
    print(f"{name} is not current: python docs/check_pages.py {name} --write")
    return 1


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _shell_commands(page: str) -> list[str]:
    return [block["body"].strip() for block in _BLOCK.finditer(page) if block["info"] == "sh"]


def brought_up_to_date(page: str, folder: str) -> str:
    """Return a page with what its commands print now, followed in a copy of the folder, or else in the repository."""
    with _followed_in(folder) as place:
        return _BLOCK.sub(lambda block: _current(block, place), page)


@contextmanager
def _followed_in(folder: str) -> Iterator[Path]:
    if not folder:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) / Path(folder).name
        shutil.copytree(ROOT / folder, place, ignore=shutil.ignore_patterns("__pycache__"))
        yield place


def _current(block: re.Match[str], place: Path) -> str:
    info, body = block["info"], block["body"]
    if info.startswith("python file="):
        return f"```{info}\n{_read(info.partition('=')[2]).rstrip()}\n```"
    if info == "console":
        found = _COMMAND.findall(body)
        said = [f"$ {command}\n{_as_cut(shown, _output(command, place))}".rstrip() for command, shown in found]
        return "\n".join(["```console", *said, "```"])
    if info == "diff":
        apply_patch(body, place)
    return block[0]


def _as_cut(shown: str, output: str) -> str:
    """Return what a command prints, as far as the page shows it."""
    lines = shown.splitlines()
    if not lines or lines[-1] != _CUT:
        return output
    return "\n".join([*output.splitlines()[: len(lines) - 1], _CUT])


def _output(command: str, place: Path) -> str:
    """Run a command as a reader would, with the `veriformer` that belongs to this Python, and return what it prints."""
    program = shutil.which("veriformer", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit(f"veriformer is not installed for {sys.executable}: pip install --editable '.[all,dev]'")
    path = os.pathsep.join((str(Path(program).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path}
    completed = subprocess.run(
        command, shell=True, cwd=place, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    errors = [line for line in completed.stderr.splitlines() if not _PACE.search(line)]
    if errors:
        raise SystemExit(f"{command} wrote to standard error:\n{completed.stderr}")
    return "\n".join(line.rstrip() for line in completed.stdout.rstrip().splitlines())


def comparable(page: str) -> str:
    """Return a page without what differs from run to run, or from machine to machine."""
    return _ROUNDING.sub("… of the", _SECONDS.sub("… s", page))


def difference(page: str, current: str, name: str) -> list[str]:
    """Return the lines of a diff from a page to what it should be."""
    before, after = (comparable(text).splitlines(keepends=True) for text in (page, current))
    return list(difflib.unified_diff(before, after, name, "what its commands print"))


if __name__ == "__main__":
    raise SystemExit(main())
