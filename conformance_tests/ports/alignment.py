"""Which parts of two models belong together."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.ports.items import PortPart
from veriformer.conformance_tests.recognition.agreement import agree

Pair = tuple[PortPart | None, PortPart | None]
_KIND, _WEIGHTS = 1.0, 2.0


def aligned(first: Sequence[PortPart], second: Sequence[PortPart]) -> list[Pair]:
    """Return the parts in pairs, in the order of execution; a part without a counterpart stands alone.

    Where both models have the same kinds of parts in the same order, these are the pairs, whatever their weights: two
    layers that were exchanged are then found. Otherwise those belong together that share most weights.
    """
    if [_family(one) for one in first] == [_family(one) for one in second]:
        return list(zip(first, second, strict=True))
    return _best(first, second)


def _best(first: Sequence[PortPart], second: Sequence[PortPart]) -> list[Pair]:
    """Return the pairs with the most in common that keep both orders."""
    rows, columns = len(first), len(second)
    score = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    likeness = [[_likeness(one, other) for other in second] for one in first]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            together = likeness[i][j] + score[i + 1][j + 1] if likeness[i][j] else 0.0
            score[i][j] = max(together, score[i + 1][j], score[i][j + 1])
    pairs: list[Pair] = []
    i = j = 0
    while i < rows or j < columns:
        if i < rows and j < columns and likeness[i][j] and score[i][j] == likeness[i][j] + score[i + 1][j + 1]:
            pairs.append((first[i], second[j]))
            i, j = i + 1, j + 1
        elif j >= columns or (i < rows and score[i + 1][j] >= score[i][j + 1]):
            pairs.append((first[i], None))
            i += 1
        else:
            pairs.append((None, second[j]))
            j += 1
    return pairs


def _likeness(one: PortPart, other: PortPart) -> float:
    """Return how much two parts have in common; 0 where they are of different kinds."""
    if _family(one) != _family(other):
        return 0.0
    arrays = [(weight.array, other.by_key(weight.key)) for weight in one.weights() if weight.array is not None]
    shared = [
        agree(second, first)
        for first, item in arrays
        if (second := getattr(item, "array", None)) is not None and second.shape == first.shape
    ]
    kind = _KIND if one.role == other.role else _KIND / 2
    return kind + (_WEIGHTS * sum(shared) / len(arrays) if arrays else 0.0)


def _family(part: PortPart) -> str:
    """Return what a part is, whatever an attention reads, and however many ends come before it."""
    return "attention" if part.role.endswith("attention") else part.role.rstrip(" 0123456789")
