"""The interface laws: what every operation owes its caller, whatever it computes. No wrong formula breaks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from veriformer.conformance_tests.mistakes.kills import Killed, kill_matrix
from veriformer.spec.laws import LAWS

# Their keys. A program that breaks one often breaks later ones in consequence.
INTERFACE_LAWS = (
    "signature",
    "shape",
    "inputs_unchanged",
    "same_call_same_answer",
    "history_independence",
    "result_kept",
    "dtype",
    "memory_layout",
)
# Where a result depends on earlier calls, any law may be broken.
OF_HISTORY = ("same_call_same_answer", "history_independence")
OF_STATE = (*OF_HISTORY, "result_kept")
# Mistakes of stale state: a program that has just been loaded does not make them in its first call.
STALE_STATE = (
    "keys_cached_by_shape",
    "keys_cached_by_address",
    "keys_of_the_call_before",
    "bias_cache_shape_stale",
    "cache_pointer_not_reset",
    "compile_eager_mismatch",
    "output_buffer_reused",
)
# Mistakes that give right results for moderate numbers.
ONLY_OF_LARGE_NUMBERS = ("maximum_over_the_batch", "masked_nan_or_inf_leaks", "qk_overflow_before_scale")
# The argument that each mistake writes to.
WRITING_TO = {"mask_mutated_in_place": "mask", "query_scaled_in_place": "query"}
# The mistake by which no result comes twice.
RANDOM = "dropout_active_in_eval"
_FOLLOW_FROM_STATE = (*OF_STATE, "memory_layout", "inputs_unchanged")
# A program that breaks the first may break the others in consequence.
FOLLOWING = {
    "inputs_unchanged": (*OF_STATE, "memory_layout"),
    **dict.fromkeys(OF_STATE, ("memory_layout",)),
}


def is_interface_law(law: str) -> bool:
    """Return whether a law is an interface law."""
    return LAWS[law].claim.key in INTERFACE_LAWS


@cache
def keys_broken_by(slug: str) -> frozenset[str]:
    """Return the keys of the laws that programs with a mistake were seen to break, with those broken in consequence."""
    keys = _keys(law for mistake in _programs_with(slug) for law in mistake.broken)
    return keys.union(_FOLLOW_FROM_STATE) if not keys.isdisjoint(OF_HISTORY) else keys


@cache
def keys_stopped_by(slug: str) -> frozenset[str]:
    """Return the keys of the laws in which programs with a mistake were seen to raise."""
    return _keys(law for mistake in _programs_with(slug) for law in mistake.stopped)


def _programs_with(slug: str) -> Iterator[Killed]:
    return (mistake for mistake in kill_matrix().mistakes if mistake.slug == slug)


def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(LAWS[law].claim.key for law in names if law in LAWS)
