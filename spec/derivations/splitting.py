"""A formula in one line of Unicode, split where it does not fit: at relations first, then at sums, then elsewhere."""

from __future__ import annotations

import re
from itertools import pairwise

_OPEN, _CLOSE = "([{⌊⌈⟨", ")]}⌋⌉⟩"
_RELATION, _SUM, _ELSEWHERE = range(3)
_RELATIONS = set("=≠≤≥<>≈→⇔∈")
_SIGNS = set("+−±")
_INDENT = 2
# The sign of a sum or a limit stays with what it is of.
_REACHES_ON = re.compile(r"([ΣΠ∫]_?(\([^()]*\))?|lim_\([^()]*\))$")


def split_formula(formula: str, width: int) -> list[str]:
    """Return a formula in lines of at most `width` characters where it can be split so; later lines are indented."""
    if len(formula) <= width:
        return [formula]
    parts = _parts(formula)
    if len(parts) == 1:
        return [formula]
    first, *others = _filled(parts, width)
    margin = " " * _INDENT
    start, *rest = split_formula(first, width - _INDENT)
    # What belongs to the first part stands further to the right than the next part.
    lines = [start, *(margin + line for line in rest)]
    for other in others:
        lines += [margin + line for line in split_formula(other, width - _INDENT)]
    return lines


def _parts(formula: str) -> list[str]:
    """Return a formula cut at its outermost relations, or else sums, or else spaces."""
    breaks = _breaks(formula)
    if not breaks:
        return [formula]
    outermost = min(rank for rank, _ in breaks)
    places = [0, *(place for rank, place in breaks if rank == outermost), len(formula)]
    return [formula[start:end].strip() for start, end in pairwise(places)]


def _breaks(formula: str) -> list[tuple[tuple[int, int], int]]:
    """Return every place before which a line may end, with its depth in brackets and its kind."""
    found: list[tuple[tuple[int, int], int]] = []
    brackets: list[int] = []
    for place, character in enumerate(formula):
        if character in _OPEN:
            brackets.append(place)
        elif character in _CLOSE:
            brackets = brackets[:-1]
        elif character == " " and not _is_within_index(formula, brackets) and not _belongs_to_next(formula, place):
            found.append(((len(brackets), _kind(formula, place + 1)), place + 1))
    return found


def _is_within_index(formula: str, brackets: list[int]) -> bool:
    """Return whether an index is open, such as that of a sum or of an entry: W[a, b], Σ_(1≤j≤n, 1≤i≤n)."""
    return any(formula[place - 1 : place] == "_" or _is_entry(formula, place) for place in brackets)


def _is_entry(formula: str, bracket: int) -> bool:
    return formula[bracket] == "[" and formula[bracket - 1 : bracket].isalnum()


def _belongs_to_next(formula: str, space: int) -> bool:
    """Return whether what stands before a space is the sign of what comes after it."""
    before = formula[:space]
    return before[-1:] in _RELATIONS | _SIGNS or _REACHES_ON.search(before) is not None


def _kind(formula: str, place: int) -> int:
    if formula[place + 1 : place + 2] != " ":
        return _ELSEWHERE
    return _RELATION if formula[place] in _RELATIONS else _SUM if formula[place] in _SIGNS else _ELSEWHERE


def _filled(parts: list[str], width: int) -> list[str]:
    """Return the parts in lines, as many in each as fit."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= width - _INDENT:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines
