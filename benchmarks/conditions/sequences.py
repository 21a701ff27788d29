"""Conditions on whole numbers (positions, tokens, targets, lengths, distances) and on the calls that came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product

import numpy as np

from conditions.call import Array, Call, Condition, arrays_of

Holds = Callable[[Call], bool]
Test = Callable[[Array], bool]

POSITIONS: Mapping[str, Test] = {
    "above 64": lambda p: bool(np.any(p > 64)),
    "above 127": lambda p: bool(np.any(p > 127)),
    "above 255": lambda p: bool(np.any(p > 255)),
    "above 511": lambda p: bool(np.any(p > 511)),
    "above 1023": lambda p: bool(np.any(p > 1023)),
    "equal to 2048": lambda p: bool(np.any(p == 2048)),
    "not from 0": lambda p: bool(p.min() > 0),
    "from 0": lambda p: bool(np.any(p == 0)),
    "falling": lambda p: bool(p.shape[-1] > 1 and np.any(np.diff(p, axis=-1) < 0)),
    "repeated": lambda p: bool(p.shape[-1] > 1 and np.any(np.diff(np.sort(p, axis=-1), axis=-1) == 0)),
    "with gaps": lambda p: bool(p.shape[-1] > 1 and np.any(np.diff(np.sort(p, axis=-1), axis=-1) > 1)),
    "0, 1, 2, …": lambda p: bool(p.shape[-1] > 1 and np.all(p == np.arange(p.shape[-1]))),
    "all equal": lambda p: bool(p.shape[-1] > 1 and np.any(np.all(p == p[..., :1], axis=-1))),
    "all 0": lambda p: bool(np.all(p == 0)),
    "of rank 1": lambda p: p.ndim == 1,
    "of rank 2": lambda p: p.ndim == 2,
    "different for each sample": lambda p: bool(p.ndim == 2 and np.any(p != p[:1])),
    "even only": lambda p: bool(np.any(p) and np.all(p % 2 == 0)),
}
TOKENS: Mapping[str, Test] = {
    "repeated": lambda t: bool(np.any(np.diff(np.sort(t, axis=-1), axis=-1) == 0)),
    "all different": lambda t: bool(t.size > 1 and len(np.unique(t)) == t.size),
    "all equal": lambda t: bool(t.size > 1 and np.all(t == t.flat[0])),
    "0": lambda t: bool(np.any(t == 0)),
    "repeated side by side": lambda t: bool(np.any(np.diff(t, axis=-1) == 0)),
    "not contiguous": lambda t: not t.flags.c_contiguous,
}
LARGE_TOKENS: Mapping[str, Test] = {
    "above 127": lambda t: bool(np.any(t > 127)),
    "above 255": lambda t: bool(np.any(t > 255)),
    "above 32,767": lambda t: bool(np.any(t > 32767)),
    "above 65,535": lambda t: bool(np.any(t > 65535)),
}
LENGTHS: Mapping[str, Test] = {
    "with a 0": lambda n: bool(np.any(n == 0)),
    "with a 1": lambda n: bool(np.any(n == 1)),
    "all equal": lambda n: bool(n.size > 1 and np.all(n == n[0])),
    "falling": lambda n: bool(n.size > 1 and np.all(np.diff(n) < 0)),
    "rising": lambda n: bool(n.size > 1 and np.all(np.diff(n) > 0)),
    "all divisible by 8": lambda n: bool(n.size and np.any(n) and np.all(n % 8 == 0)),
    "above 64": lambda n: bool(np.any(n > 64)),
    "above 127": lambda n: bool(np.any(n > 127)),
    "above 255": lambda n: bool(np.any(n > 255)),
    "repeated": lambda n: bool(len(np.unique(n)) < n.size),
}
DISTANCES: Mapping[str, Test] = {
    **{f"of rank {rank}": partial(lambda rank, d: d.ndim == rank, rank) for rank in range(6)},
    "negative": lambda d: bool(np.any(d < 0)),
    "all negative": lambda d: bool(d.size and np.all(d < 0)),
    "all positive": lambda d: bool(d.size and np.all(d > 0)),
    "0": lambda d: bool(np.any(d == 0)),
    "above 64": lambda d: bool(np.any(d > 64)),
    "above 128": lambda d: bool(np.any(d > 128)),
    "above 1,000": lambda d: bool(np.any(d > 1000)),
    "above 32,767": lambda d: bool(np.any(d > 32767)),
    "below −128": lambda d: bool(np.any(d < -128)),
    "below −1,000": lambda d: bool(np.any(d < -1000)),
    "not contiguous": lambda d: not d.flags.c_contiguous,
    "more than 16": lambda d: d.size > 16,
    "more than 1,024": lambda d: d.size > 1024,
}
INTEGERS: tuple[tuple[str, str, Mapping[str, Test]], ...] = (
    ("rotary_embedding", "positions", POSITIONS),
    ("token_embedding", "tokens", {**TOKENS, **LARGE_TOKENS}),
    ("encoder", "tokens", {**TOKENS, **dict(list(LARGE_TOKENS.items())[:2])}),
    ("language_model", "tokens", {**TOKENS, **dict(list(LARGE_TOKENS.items())[:2])}),
    ("encoder_decoder", "source", TOKENS),
    ("encoder_decoder", "target", TOKENS),
    ("decode_step", "tokens", TOKENS),
    ("decode_step", "positions", {name: test for name, test in POSITIONS.items() if not name.startswith("equal")}),
    ("cross_entropy", "targets", {**TOKENS, **LARGE_TOKENS}),
    ("next_token_loss", "tokens", {**TOKENS, **dict(list(LARGE_TOKENS.items())[:3])}),
    ("next_token_loss_backward", "tokens", {**TOKENS, **dict(list(LARGE_TOKENS.items())[:2])}),
    ("padding_mask", "lengths", LENGTHS),
    ("relative_position_bucket", "relative_position", DISTANCES),
)


def _integers(name: str, test: Test, call: Call) -> bool:
    array = call.array(name)
    return array is not None and array.size > 0 and test(array)


def _ignored(call: Call) -> Array:
    ignored = call.arguments.get("ignore_index")
    return np.asarray(call.arguments["targets"]) == (-(10**9) if ignored is None else ignored)


def _last_token(call: Call) -> bool:
    return bool(np.any(np.asarray(call.arguments["tokens"]) == call.sizes["N"] - 1))


def _full(call: Call) -> bool:
    return bool(np.any(np.asarray(call.arguments["lengths"]) == call.sizes["S"]))


def _reduced(name: str, holds: Holds, call: Call) -> bool:
    return call.arguments.get("reduction") == name and holds(call)


_REDUCED: Mapping[str, Holds] = {
    "one sample": lambda call: call.sizes["B"] == 1,
    "many samples": lambda call: call.sizes["B"] > 1,
    "one target each": lambda call: call.sizes["L"] == 1,
    "more than 64 targets": lambda call: call.sizes["L"] > 64,
    "as many samples as targets": lambda call: call.sizes["B"] == call.sizes["L"] > 1,
    "as many targets as classes": lambda call: call.sizes["L"] == call.sizes["N"] > 1,
    "more than 256 classes": lambda call: call.sizes["N"] > 256,
    "something ignored": lambda call: bool(np.any(_ignored(call))),
    "everything ignored": lambda call: bool(np.all(_ignored(call))),
    "smoothed": lambda call: call.given("label_smoothing"),
    "smoothed and ignored": lambda call: bool(call.given("label_smoothing") and np.any(_ignored(call))),
    "float64": lambda call: np.asarray(call.arguments["logits"]).dtype == np.float64,
}


def _at_step(name: str, later: bool, call: Call) -> bool:
    return call.given(name) and (call.arguments.get("cache") is not None) == later


def _padded_now(call: Call, later: bool) -> bool:
    """Return whether some of a step's own tokens are padding."""
    mask = call.array("padding_mask")
    if mask is None or (later and call.arguments.get("cache") is None):
        return False
    return not np.all(mask[:, -call.sizes["T"] :])


def _columns(call: Call) -> Array:
    start = _cached(call) if call.arguments.get("cache") is not None else 0
    return np.arange(start, start + call.sizes["T"])


OTHERS: Mapping[str, Mapping[str, Holds]] = {
    "token_embedding": {"tokens the last of the vocabulary": _last_token},
    "padding_mask": {"lengths with the longest possible": _full},
    "cross_entropy": {
        "all targets ignored but one": lambda call: bool(
            np.sum(~_ignored(call)) == 1 < np.asarray(call.arguments["targets"]).size
        ),
        "the first target ignored": lambda call: bool(_ignored(call).flat[0]),
        "the last target ignored": lambda call: bool(_ignored(call).flat[-1]),
        "a whole sequence ignored": lambda call: bool(np.any(np.all(_ignored(call), axis=-1))),
        "ignore_index given, nothing ignored": lambda call: (
            call.arguments.get("ignore_index") is not None and not np.any(_ignored(call))
        ),
        "ignore_index is a class": lambda call: 0 <= (call.arguments.get("ignore_index") or -1) < call.sizes["N"],
        **{
            f"reduction {name}, {text}": partial(_reduced, name, holds)
            for name in ("sum", "none")
            for text, holds in _REDUCED.items()
        },
        "ignored and smoothed": lambda call: bool(np.any(_ignored(call)) and call.arguments.get("label_smoothing")),
    },
    "rotary_embedding": {
        "rotary_dim < D": lambda call: 0 < (call.arguments.get("rotary_dim") or 0) < call.sizes["D"],
        "rotary_dim == D": lambda call: call.arguments.get("rotary_dim") == call.sizes["D"],
        "rotary_dim == 2": lambda call: call.arguments.get("rotary_dim") == 2,
        "rotary_dim not half of D": lambda call: (
            2 * (call.arguments.get("rotary_dim") or call.sizes["D"] / 2) != call.sizes["D"]
        ),
        "rotary_dim > 16": lambda call: (call.arguments.get("rotary_dim") or 0) > 16,
        "rotary_dim > 64": lambda call: (call.arguments.get("rotary_dim") or 0) > 64,
        "B == L with positions of rank 1": lambda call: (
            call.sizes["B"] == call.sizes["L"] > 1 and np.ndim(call.arguments["positions"]) == 1
        ),
    },
    "decode_step": {
        "a first step of one token": lambda call: call.arguments.get("cache") is None and call.sizes["T"] == 1,
        "a first step of many tokens": lambda call: call.arguments.get("cache") is None and call.sizes["T"] > 1,
        "a later step of many tokens": lambda call: call.arguments.get("cache") is not None and call.sizes["T"] > 1,
        "a later step of one token": lambda call: call.arguments.get("cache") is not None and call.sizes["T"] == 1,
        **{
            f"a cache of more than {steps} tokens": partial(lambda steps, call: _cached(call) > steps, steps)
            for steps in (1, 4, 8, 16, 32, 64)
        },
        **{
            f"{name} at {text} step": partial(_at_step, name, later)
            for name in ("positions", "padding_mask")
            for text, later in (("a first", False), ("a later", True))
        },
        "padding among the new tokens of a later step": lambda call: _padded_now(call, later=True),
        "padding among the cached tokens only": lambda call: (
            call.given("padding_mask") and not np.all(call.array("padding_mask")) and not _padded_now(call, later=False)
        ),
        "positions of rank 2 where B == T": lambda call: (
            np.ndim(call.arguments.get("positions")) == 2 and call.sizes["B"] == call.sizes["T"] > 1
        ),
        "positions of rank 1 for many samples": lambda call: (
            np.ndim(call.arguments.get("positions")) == 1 and call.sizes["B"] > 1
        ),
        "positions other than the columns": lambda call: (
            call.given("positions") and bool(np.any(call.array("positions") != _columns(call)))
        ),
        "a padding mask over more than 16 tokens": lambda call: (
            call.given("padding_mask") and np.shape(call.arguments["padding_mask"])[1] > 16
        ),
    },
}
HIDDEN = {
    "encoder_layer": ("padding_mask",),
    "decoder_layer": ("padding_mask", "memory_padding_mask"),
    "encoder": ("padding_mask",),
    "encoder_decoder": ("source_padding_mask", "target_padding_mask"),
    "language_model": ("padding_mask",),
    "decode_step": ("padding_mask",),
}
PADDING: Mapping[str, Test] = {
    "on the left": lambda mask: bool(np.any(~mask[:, 0])),
    "on the right": lambda mask: bool(np.any(~mask[:, -1])),
    "within": lambda mask: bool(np.any(np.abs(np.diff(mask.astype(int), axis=-1)).sum(axis=-1) > 1)),
    "that hides nothing": lambda mask: bool(np.all(mask)),
    "of all but one token": lambda mask: bool(np.any(mask.sum(axis=-1) == 1) and mask.shape[-1] > 1),
    "that differs between samples": lambda mask: bool(np.any(mask != mask[:1])),
}


def _cached(call: Call) -> int:
    """Return how many tokens the reference's cache has: its keys' length."""
    lengths = [array.shape[2] for _, array in arrays_of(call.arguments.get("cache")) if array.ndim == 4]
    return max(lengths, default=0)


def _number_is(number: int, call: Call) -> bool:
    return call.number == number


def _same_shapes(call: Call) -> bool:
    return call.before is not None and call.sizes == call.before.sizes


def _other_shapes(call: Call) -> bool:
    return call.before is not None and call.sizes != call.before.sizes


def _shrunk(call: Call) -> bool:
    before = call.before
    return before is not None and any(call.sizes.get(axis, 0) < length for axis, length in before.sizes.items())


def _of_one_list(values: Iterable[object]) -> list[object]:
    """Return arguments, with those that are lists in their parts."""
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def _same_objects(call: Call) -> bool:
    if call.before is None:
        return False
    now, then = (_of_one_list(each.arguments.values()) for each in (call, call.before))
    pairs = [pair for pair in zip(now, then, strict=False) if isinstance(pair[0], np.ndarray)]
    return bool(pairs) and all(one is other for one, other in pairs)


_SCHEDULES = ("warmup_cosine_learning_rate", "warmup_inverse_root_learning_rate")
OF_NUMBERS = ("causal_mask", "sinusoidal_positions", "alibi_bias", *_SCHEDULES)
HISTORY: Mapping[str, Holds] = {
    **{f"call {number}": partial(_number_is, number) for number in (2, 3, 10, 100)},
    "every call after the first": lambda call: call.number > 1,
    "every tenth call": lambda call: call.number % 10 == 0,
    "sizes as in the call before": _same_shapes,
    "other sizes than in the call before": _other_shapes,
    "an axis shorter than in the call before": _shrunk,
    "the arrays of the call before": _same_objects,
}


def conditions_of_sequences(operations: tuple[str, ...]) -> Iterator[Condition]:
    """Return all conditions on whole numbers, on padding, and on the calls before."""
    for operation, name, tests in INTEGERS:
        for text, test in tests.items():
            yield Condition(operation, "integers", f"{name} {text}", partial(_integers, name, test))
    for operation, others in OTHERS.items():
        yield from (Condition(operation, "integers", *one) for one in others.items())
    for operation, names in HIDDEN.items():
        for name, (text, test) in product(names, PADDING.items()):
            yield Condition(operation, "padding", f"{name} {text}", partial(_integers, name, test))
    for operation in operations:
        # Lengths are plain numbers, which are the same object wherever they are equal.
        possible = {name: one for name, one in HISTORY.items() if operation not in OF_NUMBERS or "arrays" not in name}
        if operation in _SCHEDULES:
            possible = {name: one for name, one in possible.items() if "call" in name.split()[:2] or "tenth" in name}
        yield from (Condition(operation, "history", *one, of_history=True) for one in possible.items())
