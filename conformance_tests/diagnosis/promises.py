"""What every operation owes its caller, whatever it computes: laws that no formula breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from veriformer.conformance_tests.mistakes.kills import Killed, kill_matrix
from veriformer.spec.laws import LAWS

# The keys of laws that no formula breaks. Who breaks one breaks later ones as well, the first here most.
PROMISES = (
    "signature",
    "shape",
    "inputs_unchanged",
    "same_call_same_answer",
    "history_independence",
    "result_kept",
    "dtype",
    "memory_layout",
)
# An answer that depends on calls before it may be wrong in every law.
OF_HISTORY = ("same_call_same_answer", "history_independence")
OF_STATE = (*OF_HISTORY, "result_kept")
# Mistakes that keep something of a call for later ones, of those that a program just loaded has not made yet.
KEEPING_SOMETHING = (
    "keys_cached_by_shape",
    "keys_cached_by_address",
    "keys_of_the_call_before",
    "bias_cache_shape_stale",
    "cache_pointer_not_reset",
    "compile_eager_mismatch",
    "output_buffer_reused",
)
# Mistakes by which moderate numbers give what is right.
ONLY_OF_LARGE_NUMBERS = ("maximum_over_the_batch", "masked_nan_or_inf_leaks", "qk_overflow_before_scale")
# What each mistake writes to, of those that an operation has several of.
WRITING_TO = {"mask_mutated_in_place": "mask", "query_scaled_in_place": "query"}
# The mistake by which no answer is given twice.
RANDOM = "dropout_active_in_eval"
_FOLLOW_FROM_STATE = (*OF_STATE, "memory_layout", "inputs_unchanged")
# Who breaks the first may break the others for that alone.
FOLLOWING = {
    "inputs_unchanged": (*OF_STATE, "memory_layout"),
    **dict.fromkeys(OF_STATE, ("memory_layout",)),
}


def is_promise(law: str) -> bool:
    """Return whether no formula breaks a law."""
    return LAWS[law].claim.key in PROMISES


@cache
def keys_broken_by(slug: str) -> frozenset[str]:
    """Return the keys of the laws that programs with a mistake were seen to break, and of what follows from them."""
    keys = _keys(law for mistake in _programs_with(slug) for law in mistake.broken)
    return keys.union(_FOLLOW_FROM_STATE) if not keys.isdisjoint(OF_HISTORY) else keys


@cache
def keys_stopped_by(slug: str) -> frozenset[str]:
    """Return the keys of the laws that programs with a mistake were seen to end with an error."""
    return _keys(law for mistake in _programs_with(slug) for law in mistake.stopped)


def _programs_with(slug: str) -> Iterator[Killed]:
    return (mistake for mistake in kill_matrix().mistakes if mistake.slug == slug)


def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(LAWS[law].claim.key for law in names if law in LAWS)
