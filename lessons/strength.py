"""The order in which a learner hears of laws: from what every attempt should have to what few remember.

A learner hears of the first law that is broken. A weak law has a small case and a short reason, so that its failure
says much; a law about the whole formula fails for every mistake, and says little.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from veriformer.spec.laws.law import LawStatement

# Patterns over the keys of laws; within one line the order of the specification holds.
_LADDER: tuple[tuple[str, ...], ...] = (
    ("signature",),
    ("shape", "dtype", "inputs_unchanged"),
    # One key, one token, one head, a zero: nothing is left to choose.
    ("single_key", "single_token", "memory.single_token", "one_head", "one_head_each", "source.last_token"),
    ("zero", "zero_vector", "zero_gate", "position_zero", "one_hot", "pre_norm.identity", "count"),
    # Equal keys, equal values: a mean.
    ("keys.equal", "keys.all_twice", "values.constant", "constant_vector", "uniform", "tokens.repeated"),
    ("nonnegative", "rows_sum_to_one", "range", "zero_mean", "unit_variance", "unit_mean_square", "norm"),
    ("post_norm.zero_mean", "post_norm.unit_variance"),
    # Masks: a key that is hidden has no share.
    ("own_position", "causal.own_position", "mask.polarity", "mask.no_share", "mask.masked_content"),
    ("mask.removed_keys", "padding.content", "padding.removed", "memory.padding_*", "*.padding.content"),
    ("ignore.no_influence",),
    # Symmetries.
    ("shift", "odd", "reflection", "commutative", "translation", "relative", "additive", "prefix"),
    ("*permutation", "*.permutation"),
    ("batch.independence", "heads.independence", "tokens.independence", "elementwise", "elements.independence"),
    # Where a result lies.
    ("values.hull", "between", "convex", "increasing", "monotone", "tails", "sides", "later_keys", "saturation"),
    ("scale", "eps", "gain", "gain_and_shift", "biases", "output_bias", "scale.*", "explicit_scale"),
    ("causal.no_future_leak", "target.no_future_leak", "causal.prefix", "target.prefix", "causal.*"),
    ("large_logits", "minus_infinity", "large_mean", "large_logarithms"),
    ("worked_examples",),
    ("value", "values", "mask.value", "*.value", "architecture.*"),
    ("*",),
    ("*.nonfinite_*", "mask.empty_row*"),
    # How it behaves as a program.
    ("memory_layout", "result_kept", "same_call_same_answer", "history_independence"),
)
_REST = next(step for step, patterns in enumerate(_LADDER) if patterns == ("*",))


def weak_to_strong(laws: Iterable[LawStatement]) -> tuple[str, ...]:
    """Return the ids of laws, the weakest first; equally strong ones keep their order."""
    return tuple(law.id for law in sorted(laws, key=lambda law: _step(law.claim.key)))


@lru_cache(maxsize=512)
def _step(key: str) -> tuple[int, int]:
    """Return the step of a law's key, and its place there; an exact name counts before a pattern."""
    for step, patterns in enumerate(_LADDER):
        if key in patterns:
            return step, patterns.index(key)
    for step, patterns in enumerate(_LADDER):
        for place, pattern in enumerate(patterns):
            if step != _REST and fnmatchcase(key, pattern):
                return step, place
    return _REST, 0
