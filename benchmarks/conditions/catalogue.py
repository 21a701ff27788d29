"""All conditions, by operation."""

from __future__ import annotations

from functools import cache

from veriformer.spec.operations import OPERATIONS

from conditions.call import Condition
from conditions.keywords import conditions_of_keywords
from conditions.sequences import conditions_of_sequences
from conditions.sizes import conditions_of_sizes
from conditions.training import conditions_of_training
from conditions.values import conditions_of_values


@cache
def conditions() -> tuple[Condition, ...]:
    """Return all conditions."""
    return (
        *conditions_of_sizes(),
        *conditions_of_values(),
        *conditions_of_keywords(),
        *conditions_of_training(),
        *conditions_of_sequences(tuple(OPERATIONS)),
    )


def conditions_of(operation: str) -> tuple[Condition, ...]:
    """Return the conditions on the calls of one operation."""
    return tuple(condition for condition in conditions() if condition.operation == operation)
