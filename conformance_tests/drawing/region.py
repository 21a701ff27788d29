"""A region of the case space that a run must visit, usually because a mistake shows there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Predicate = Callable[[Any], bool]

# The gradients of what is added to the logits.
OF_ADDITIONS = ("attention_bias_backward", "attention_sinks_backward")
# The operations that attend, and those of them that take queries, keys and values without projections.
PER_HEAD = (
    "scaled_dot_product_attention",
    "grouped_query_attention",
    "attention_weights",
    "scaled_dot_product_attention_backward",
    "grouped_query_attention_backward",
    "attention_weights_backward",
    *OF_ADDITIONS,
)
ATTENTION = (*PER_HEAD, "multi_head_attention")
# Those that take the additions of later years: windows, caps, sinks.
MODERN = PER_HEAD[:2]

# Beyond these exponentials overflow, or vanish.
BEYOND_EXP = {"float16": 11.0, "bfloat16": 88.0, "float32": 88.0, "float64": 709.0}


def everywhere(_: object) -> bool:
    """Return True: a region that reaches as far as its operations."""
    return True


@dataclass(frozen=True)
class Region:
    """A named part of the case space of some operations.

    `cases` says whether a case lies in it; if its sizes and settings do not decide, `inputs` decides on the inputs of
    the case. `laws` has the keys of laws that change these before the call; for them `inputs` decides on the actual
    arguments.
    """

    name: str
    sentence: str
    operations: tuple[str, ...]
    cases: Predicate = everywhere
    inputs: Predicate | None = None
    laws: tuple[str, ...] = ()

    def has(self, case: object, inputs: Iterable[object]) -> bool:
        """Return whether a case lies in the region, with one of the inputs; they are looked at only where needed."""
        if not self.cases(case):
            return False
        return self.inputs is None or any(map(self.inputs, inputs))


def among(operations: tuple[str, ...], *rows: tuple[str, str, Predicate]) -> tuple[Region, ...]:
    """Return regions of the same operations, each with its name, its sentence and its condition on a case."""
    return tuple(Region(name, sentence, operations, cases) for name, sentence, cases in rows)
