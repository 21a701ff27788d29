"""In which order laws are tried: those first that reveal most mistakes in the shortest time.

The order is a record of the kill matrix, made by `benchmarks/kill_matrix.py`: each next law is the one that catches the
most of the mistakes that none before it caught, for the time it takes. It has no bearing on any verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.mistakes.files import read_json


def most_revealing_first(laws: Iterable[Law]) -> list[Law]:
    """Return laws in the recorded order; those without a record keep their order and come last."""
    ranks = _ranks()
    return sorted(laws, key=lambda law: ranks.get(law.id, len(ranks)))


@cache
def _ranks() -> dict[str, int]:
    return {law: rank for rank, law in enumerate(read_json("order.json"))}
