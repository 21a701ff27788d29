"""Where the two forms of a function differ: what the place that is reported is compared with."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path


def changed_lines(faulty: Path, mended: Path) -> set[int]:
    """Return the numbers of the lines that only the faulty program has, or of the next where lines are missing."""
    old, new = (path.read_text(encoding="utf-8").splitlines() for path in (faulty, mended))
    found: set[int] = set()
    for what, start, end, _, _ in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if what != "equal":
            found |= {*range(start + 1, max(end, start + 1) + 1)}
    return found


def changed_function(faulty: Path, mended: Path) -> int:
    """Return the line of the `def` of the outermost function in which the two differ; 0 where it is in none."""
    lines = changed_lines(faulty, mended)
    tree = ast.parse(faulty.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(node.lineno <= one <= (node.end_lineno or 0) for one in lines):
            return node.lineno
    return 0
