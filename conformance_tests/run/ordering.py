"""The order in which laws are tried: first those that reveal most mistakes in the shortest time.

It is computed from the kill matrix by `benchmarks/kill_matrix.py`: the next law is always the one that catches the most
mistakes not caught before, for the time it takes. It has no bearing on any verdict.
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
