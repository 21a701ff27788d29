"""Changes that a page shows as a unified diff, applied to the file that they are about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_FILE = re.compile(r"^--- (\S+)\n\+\+\+ (\S+)\n")
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*\n", re.MULTILINE)


def apply_patch(patch: str, folder: Path) -> None:
    """Change a file of the folder as a unified diff of one file says; ValueError where it does not fit the file."""
    names = _FILE.match(patch)
    if names is None or names[1] != names[2]:
        raise ValueError(f"a diff of one file begins with --- and +++ and its name, twice the same: {patch[:60]!r}")
    path = folder / names[1]
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    _, *parts = _HUNK.split(patch[names.end() :])
    for start, hunk in reversed(list(zip(parts[0::2], parts[1::2], strict=True))):
        before, after = _sides(hunk.splitlines(keepends=True))
        first = int(start) - 1
        if lines[first : first + len(before)] != before:
            raise ValueError(f"{names[1]} does not have these lines from line {start} on:\n{''.join(before)}")
        lines[first : first + len(before)] = after
    path.write_text("".join(lines), encoding="utf-8")


def _sides(hunk: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines before and after; an empty line of context may have lost its space."""
    before = [line[1:] or line for line in hunk if line[0] in " -\n"]
    after = [line[1:] or line for line in hunk if line[0] in " +\n"]
    return before, after
