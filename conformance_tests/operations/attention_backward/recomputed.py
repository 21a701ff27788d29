"""The forward pass that a backward pass of attention computes again, with its decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.variants.bias import BIAS, BIAS_HEEDED
from veriformer.conformance_tests.operations.attention.variants.blocks import BLOCK_PLACES, BLOCKS
from veriformer.conformance_tests.operations.attention.variants.causality import (
    CAUSAL_ALIGNMENT,
    CAUSAL_BESIDE_MASK,
    CAUSAL_DIAGONAL,
    CAUSAL_USE,
    CAUSAL_WHEN,
    WINDOW,
    WINDOW_COUNTING,
)
from veriformer.conformance_tests.operations.attention.variants.formula import masked
from veriformer.conformance_tests.operations.attention.variants.logits import SCALE, SOFTCAP
from veriformer.conformance_tests.operations.attention.variants.masks import MASK_HEEDED, MASK_READING, MASK_USE, Scores
from veriformer.conformance_tests.operations.attention.variants.softmax import NOT_SHIFTED, SINKS, SOFTMAX, BesideSinks
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Point

WRONG = "custom_backward_wrong"
OTHER = "backward_recomputes_other_weights"
# Other uses of the mask have derivatives of their own.
_KEPT_OF_MASK_USE = ("hidden_keys_left_out", "mask_polarity_inverted", "bool_mask_added_as_numbers")


@dataclass(frozen=True)
class Passed:
    """The results of the forward pass, and the incoming gradient: that of the weights if there are no values.

    `average` is D, the average of the gradients of the weights, where it is known from the output.
    """

    query: Array
    key: Array
    value: Array | None
    grad_output: Array
    products: Array
    logits: Array
    visible: Array
    weights: Array
    average: Array | None = None

    @property
    def shown_grad_weights(self) -> Array:
        """The gradient of the weights, 0 for hidden ones."""
        return np.where(self.visible, self.grad_weights, 0.0)

    @property
    def own_average(self) -> Array:
        """D of these weights, (B, H, L, 1)."""
        return np.asarray((self.weights * self.shown_grad_weights).sum(axis=-1, keepdims=True))

    @property
    def grad_weights(self) -> Array:
        """The gradient of the weights, hidden ones among them."""
        return self.grad_output if self.value is None else self.grad_output @ self.value.swapaxes(-1, -2)


def recomputed(arguments: Arguments, factor: float, point: Point) -> Passed:
    """Return what the forward pass gives at a point of the family, and the arguments of the backward pass.

    The weights may be computed again with other arguments.
    """

    def again(given: Arguments) -> Passed:
        return _passed(given, factor, point)

    passed = again(arguments)
    if RECOMPUTED_WEIGHTS.name not in point.chosen:
        return passed
    other: Passed = point[RECOMPUTED_WEIGHTS.name](passed, again, arguments)
    return other


def _passed(arguments: Arguments, factor: float, point: Point) -> Passed:
    query, key = arguments["query"], arguments["key"]
    products = (factor * query) @ key.swapaxes(-1, -2)
    scores = masked(_scored(products, arguments, point), arguments, point)
    weights = np.where(scores.visible, _weights(scores, factor, arguments, point), 0.0)
    given = arguments.get("value"), arguments["grad_output"]
    return Passed(query, key, *given, products, scores.logits, scores.visible, weights)


Again = Callable[[Mapping[str, Any]], Passed]


def _dropped(name: str) -> Callable[[Passed, Again, Arguments], Passed]:
    """Return the pass back with weights that are computed again without an argument, and with D of the output."""

    def passed_again(passed: Passed, again: Again, arguments: Arguments) -> Passed:
        if arguments.get(name) is None:
            return passed
        kept = {key: value for key, value in arguments.items() if key != name}
        return replace(again(kept), average=passed.own_average)

    return passed_again


def _dropped_beside_normaliser(name: str) -> Callable[[Passed, Again, Arguments], Passed]:
    """Return the same where the normaliser of the forward pass was kept, so that those weights do not sum to one."""

    def passed_again(passed: Passed, again: Again, arguments: Arguments) -> Passed:
        other = _dropped(name)(passed, again, arguments)
        if other is passed:
            return passed
        normaliser = _log_sum(passed, arguments.get("sinks"))
        # Of a row without a key, whose normaliser is −∞, programs take 0.
        normaliser = np.where(np.isneginf(normaliser), 0.0, normaliser)
        return replace(other, weights=np.where(other.visible, np.exp(other.logits - normaliser), 0.0))

    return passed_again


def _log_sum(passed: Passed, sinks: Array | None) -> Array:
    """Return the logarithm of the sum of the exponentials of each query, −∞ without any, (B, H, L, 1)."""
    logits = np.where(passed.visible, passed.logits, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks[:, None, None], (*logits.shape[:-1], 1))
        logits = np.concatenate([logits, column], axis=-1)
    highest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    safe = np.where(np.isneginf(highest), 0.0, highest)
    return np.asarray(safe + np.log(np.exp(logits - safe).sum(axis=-1, keepdims=True)))


RECOMPUTED_WEIGHTS = Decision(
    "recomputed_weights",
    "With which arguments are the weights computed again, where D is known from the output?",
    (
        standard("all", lambda passed, again, arguments: passed),
        *(
            mistake(slug, how(name), f"without_{name}{suffix}")
            for slug, name in (
                (OTHER, "mask"),
                (OTHER, "bias"),
                (OTHER, "is_causal"),
                ("attention_backward_window_dropped", "window"),
            )
            for how, suffix in ((_dropped, ""), (_dropped_beside_normaliser, "_beside_normaliser"))
        ),
        mistake("sink_left_out_of_backward_denominator", _dropped("sinks"), "without_sinks"),
    ),
)


def _scored(products: Array, arguments: Arguments, point: Point) -> Scores:
    """Return the capped logits with their bias, which hides keys by −∞."""
    logits, dtype = _capped(products, arguments, point), arguments.get("dtype", "float64")
    bias = arguments.get("bias")
    bias = None if bias is None else point["bias_heeded"](bias, arguments)
    logits = logits if bias is None else point["bias"](logits, bias, dtype)
    return Scores(logits, ~np.isneginf(logits))


def _capped(logits: Array, arguments: Arguments, point: Point) -> Array:
    softcap = arguments.get("softcap")
    return logits if softcap is None else np.asarray(point["softcap"](logits, softcap))


def _weights(scores: Scores, factor: float, arguments: Arguments, point: Point) -> Array:
    dtype, sinks = arguments.get("dtype", "float64"), arguments.get("sinks")

    def softmax(logits: Array, visible: Array) -> Array:
        return np.asarray(point["softmax"](logits, visible, "zeros", dtype))

    if sinks is None:
        return softmax(scores.logits, scores.visible)
    cap = partial(_capped, arguments=arguments, point=point)
    with_sinks = BesideSinks(scores.logits, scores.visible, sinks, factor, cap, 1, softmax)
    return np.asarray(point["sinks"](with_sinks))


# Without a mistake of their own: the recomputed forward pass drops or misreads the same arguments.
_MASK_USE = Decision(
    MASK_USE.name,
    MASK_USE.question,
    tuple(option for option in MASK_USE.options if option.name in _KEPT_OF_MASK_USE),
)
_CAUSAL_WHEN = Decision(
    CAUSAL_WHEN.name,
    CAUSAL_WHEN.question,
    tuple(
        replace(option, slug=WRONG) if option.slug == "decoder_not_causal" else option for option in CAUSAL_WHEN.options
    ),
)


_WINDOW = Decision(
    WINDOW.name,
    WINDOW.question,
    tuple(
        replace(option, slug="attention_backward_window_dropped", meaning="") if option.name == "ignored" else option
        for option in WINDOW.options
    ),
)
_BIAS = Decision(
    BIAS.name,
    BIAS.question,
    tuple(
        replace(option, slug=OTHER, meaning="") if option.name == "ignored" else option
        for option in BIAS.without("float_padding_mask_treated_as_bool").options
    ),
)
_LEFT_OUT = "sink_left_out_of_backward_denominator"
_SINKS = Decision(
    SINKS.name,
    SINKS.question,
    tuple(
        replace(option, slug=_LEFT_OUT, name=_LEFT_OUT) if option.name == "sink_renormalised_away" else option
        for option in SINKS.options
        if option.name in ("a_logit_more", "sink_renormalised_away", "sink_scaled", "sink_capped", "negated")
    ),
)
RECOMPUTED = (
    BLOCK_PLACES,
    BLOCKS,
    SCALE,
    Decision(SOFTMAX.name, SOFTMAX.question, (SOFTMAX.standard, *NOT_SHIFTED)),
    SOFTCAP.without("softcap_of_zero_divides"),
    BIAS_HEEDED,
    _BIAS,
    MASK_HEEDED,
    MASK_READING,
    _MASK_USE,
    CAUSAL_BESIDE_MASK,
    _CAUSAL_WHEN,
    CAUSAL_ALIGNMENT,
    CAUSAL_DIAGONAL,
    CAUSAL_USE.without(""),
    WINDOW_COUNTING,
    _WINDOW,
    _SINKS,
)
