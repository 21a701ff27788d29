"""Sizes of attention cases vary from seed to seed, fit what a law demands, and differ from axis to axis."""

from __future__ import annotations

from itertools import product

import pytest
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.sizes import POOL, fit, free_sizes, small_sizes, smallest_first
from veriformer.conformance_tests.operations.cases import resolved
from veriformer.conformance_tests.operations.laws import laws


def spaces() -> set[AttentionSpace]:
    """Return every space of attention cases that a law draws from."""
    found = (resolved(law.space, law.statement.operation.name) for law in laws().values())
    return {space for space in found if isinstance(space, AttentionSpace)}


def test_fitting_changes_nothing_that_fits() -> None:
    free = AttentionSpace()
    for sizes in free_sizes(free, 0):
        assert fit(sizes, free) == sizes


@pytest.mark.parametrize("space", sorted(spaces(), key=repr))
def test_fitting_twice_is_fitting_once(space: AttentionSpace) -> None:
    for sizes in free_sizes(space, 1):
        assert fit(sizes, space) == sizes


def test_sizes_differ_between_seeds() -> None:
    space = AttentionSpace()
    seeds = range(8)
    for one, other in product(seeds, seeds):
        shared = set(free_sizes(space, one)) & set(free_sizes(space, other))
        assert one == other or len(shared) < len(free_sizes(space, one)) / 2


def test_the_same_seed_gives_the_same_sizes() -> None:
    space = AttentionSpace(lengths="unequal")
    once = free_sizes(space, 5)
    free_sizes.cache_clear()
    assert free_sizes(space, 5) == once


def test_sizes_stand_smallest_first() -> None:
    space = AttentionSpace()
    for sizes in (smallest_first(free_sizes(space, 0)), small_sizes(space, grouped=True)):
        one = sizes[0]
        products = [
            s.batch * s.kv_heads * s.group * s.queries * s.keys * s.width * s.value_width for s in (one, *sizes)
        ]
        assert products == sorted(products)


def test_what_every_run_takes_from_the_pool_has_no_two_axes_alike() -> None:
    for compiled in POOL[: Selection().pool]:
        sizes = compiled.sizes
        heads = sizes.kv_heads * sizes.group
        assert len({sizes.queries, sizes.keys, sizes.width, sizes.value_width, heads}) == 5
        assert min(sizes.kv_heads, sizes.group, sizes.batch) > 1


def test_what_every_run_takes_from_the_pool_has_both_orders_of_lengths() -> None:
    orders = {compiled.sizes.queries < compiled.sizes.keys for compiled in POOL[: Selection().pool]}
    assert orders == {True, False}
