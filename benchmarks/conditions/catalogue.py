"""All conditions, by operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from veriformer.spec.operations import OPERATIONS

from conditions.call import Condition, forward_of
from conditions.keywords import conditions_of_keywords
from conditions.sequences import conditions_of_sequences
from conditions.sizes import conditions_of_sizes
from conditions.training import conditions_of_training
from conditions.values import conditions_of_values


@cache
def conditions() -> tuple[Condition, ...]:
    """Return all conditions."""
    written = (
        *conditions_of_sizes(),
        *conditions_of_values(),
        *conditions_of_keywords(),
        *conditions_of_training(),
        *conditions_of_sequences(tuple(OPERATIONS)),
    )
    return (*written, *_of_backward_passes(written))


def _of_backward_passes(written: Sequence[Condition]) -> Iterator[Condition]:
    """Return those of each forward pass for its backward pass, where that has none of its own of this kind.

    A backward pass is called with the arguments of its forward pass, and one more.
    """
    own = {(condition.operation, condition.kind) for condition in written}
    for backward in (name for name in OPERATIONS if forward_of(name) != name):
        for condition in written:
            if condition.operation == forward_of(backward) and (backward, condition.kind) not in own:
                yield replace(condition, operation=backward)


@cache
def conditions_of(operation: str) -> tuple[Condition, ...]:
    """Return the conditions on the calls of one operation."""
    return tuple(condition for condition in conditions() if condition.operation == operation)
