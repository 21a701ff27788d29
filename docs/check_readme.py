"""Hold README.md to what its commands print.

    python docs/check_readme.py            compare; exit status 1 and a diff where the page is not current
    python docs/check_readme.py --write    bring the page up to date
    python docs/check_readme.py --command N    print the N-th shell command of the page

Blocks of `console` begin with `$ command`, followed by the command's output. Blocks of `python file=PATH` are that
file. Seconds differ from run to run and are compared as equal.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "README.md"
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")
# How long a run will take is said where it is long, which depends on the machine.
_PACE = re.compile(r" will take about .*: a (call|law) takes ")
_TIMEOUT = 900


def main() -> int:
    """Compare, write, or print a command; return the exit status."""
    arguments = _parsed()
    page = PAGE.read_text(encoding="utf-8")
    if arguments.command is not None:
        print(_shell_commands(page)[arguments.command - 1])
        return 0
    current = _BLOCK.sub(_brought_up_to_date, page)
    if _comparable(page) == _comparable(current):
        print("README.md is current")
        return 0
    if arguments.write:
        PAGE.write_text(current, encoding="utf-8")
        print("README.md was brought up to date")
        return 0
    sys.stdout.writelines(_difference(page, current))
    print("README.md is not current: python docs/check_readme.py --write")
    return 1


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold README.md to what its commands print.")
    parser.add_argument("--write", action="store_true", help="bring the page up to date")
    parser.add_argument("--command", type=int, metavar="N", help="print the N-th shell command of the page")
    return parser.parse_args()


def _shell_commands(page: str) -> list[str]:
    return [block["body"].strip() for block in _BLOCK.finditer(page) if block["info"] == "sh"]


def _brought_up_to_date(block: re.Match[str]) -> str:
    info, body = block["info"], block["body"]
    if info.startswith("python file="):
        return f"```{info}\n{(ROOT / info.partition('=')[2]).read_text(encoding='utf-8').rstrip()}\n```"
    if info == "console":
        command = body.splitlines()[0].removeprefix("$ ")
        return f"```console\n$ {command}\n{_output(command)}\n```"
    return block[0]


def _output(command: str) -> str:
    """Run a command as a reader would, with the `veriformer` that belongs to this Python, and return what it prints."""
    program = shutil.which("veriformer", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit(f"veriformer is not installed for {sys.executable}: pip install --editable '.[all,dev]'")
    path = os.pathsep.join((str(Path(program).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path}
    completed = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    errors = [line for line in completed.stderr.splitlines() if not _PACE.search(line)]
    if errors:
        raise SystemExit(f"{command} wrote to standard error:\n{completed.stderr}")
    return "\n".join(line.rstrip() for line in completed.stdout.rstrip().splitlines())


def _comparable(page: str) -> str:
    return _SECONDS.sub("… s", page)


def _difference(page: str, current: str) -> list[str]:
    before, after = (_comparable(text).splitlines(keepends=True) for text in (page, current))
    return list(difflib.unified_diff(before, after, "README.md", "what its commands print"))


if __name__ == "__main__":
    raise SystemExit(main())
