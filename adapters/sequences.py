"""Decoding as a chain of calls: each continues the cache that an earlier one returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from veriformer.adapters.calling import Call, PreparedCall, plain_arguments, prepare_here
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.results import Result, Shape, join
from veriformer.spec.operations import OPERATIONS


@dataclass(frozen=True)
class Step:
    """One call of `decode_step`: the next tokens (B, T), and the number of the step whose cache it continues.

    `keywords` are the optional arguments of this call alone, such as the positions of its tokens.
    """

    tokens: np.ndarray
    after: int | None = None
    keywords: Mapping[str, np.ndarray] = field(default_factory=dict)


_OF_A_STEP = ("tokens", "positions", "padding_mask")


@dataclass(frozen=True)
class PreparedSequence:
    """A chain of prepared calls; it can be repeated, each time without a cache at the beginning."""

    calls: tuple[PreparedCall, ...]
    after: tuple[int | None, ...]

    def run(self, expected_shapes: Sequence[Shape] | None = None) -> Result:
        """Make the calls and return their logits one after the other in the axis of the tokens.

        `expected_shapes` has one shape for each call. The result's `shapes` are those of the calls; where they do not
        fit together its values stand in one axis. Raises what `PreparedCall.run` raises.
        """
        results: list[Result] = []
        for number, (call, after) in enumerate(zip(self.calls, self.after, strict=True)):
            cache = None if after is None else results[after].opaque["cache"]
            arguments = {**call.framework_arguments, "cache": cache}
            expected = None if expected_shapes is None else [expected_shapes[number]]
            results.append(replace(call, framework_arguments=arguments).run(expected))
        dtype = ", ".join(dict.fromkeys(result.dtype for result in results))
        return Result(_together(results), dtype, tuple(shape for result in results for shape in result.shapes))

    def arguments_now(self) -> dict[str, np.ndarray]:
        """Return what the framework's arrays hold at this moment: tokens of each call, weights of all."""
        arrays = {name: array for call in self.calls for name, array in call.arguments_now().items()}
        for number, call in enumerate(self.calls):
            own = call.arguments_now()
            arrays |= {f"{name} of call {number + 1}": own[name] for name in _OF_A_STEP if name in own}
        return arrays


def prepare_sequence(
    implementation: Implementation,
    steps: Sequence[Step],
    arguments: Mapping[str, Any],
    *,
    dtype: str,
    strided: bool = False,
) -> Call:
    """Convert the steps' tokens, and the other arguments of `decode_step` once for all of them.

    The whole chain is made in the implementation's worker, if it has one, which keeps the caches.
    Raises KeyError, ValueError and UnsupportedDtype as `prepare` does.
    """
    framework = implementation.framework
    if implementation.residence is not None:
        plain = plain_arguments(OPERATIONS["decode_step"], arguments)
        request = {"steps": [(step.tokens, step.after, dict(step.keywords)) for step in steps], "arguments": plain}
        return implementation.residence.call("decode_step", {**request, "dtype": dtype, "strided": strided}, len(steps))
    first = prepare_here(
        implementation,
        "decode_step",
        {**arguments, "tokens": steps[0].tokens, **steps[0].keywords},
        dtype=dtype,
        strided=strided,
    )
    shared = {name: value for name, value in first.framework_arguments.items() if name not in _OF_A_STEP}
    calls = [first]
    for step in steps[1:]:
        own = {
            name: framework.from_numpy(array, dtype) for name, array in {"tokens": step.tokens, **step.keywords}.items()
        }
        own = {name: framework.strided(array) if strided else array for name, array in own.items()}
        calls.append(replace(first, framework_arguments={**shared, **own}))
    return PreparedSequence(tuple(calls), tuple(step.after for step in steps))


def _together(results: Sequence[Result]) -> np.ndarray:
    """Return the logits of all calls along the axis of the tokens, or in one axis where they do not fit."""
    logits = [result.value.reshape(result.shapes[0]) for result in results]
    if all(one.ndim == 3 for one in logits) and len({(one.shape[0], one.shape[2]) for one in logits}) == 1:
        return np.concatenate(logits, axis=1)
    return join(logits)
