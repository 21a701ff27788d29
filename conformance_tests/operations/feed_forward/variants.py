"""The families of the networks that a Transformer applies to each position alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.variants import GELU, SILU
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Activate = Callable[[Array], Array]
# What only a kernel of their own gets wrong is no decision of a network.
_ACTIVATIONS = {"gelu": GELU.without("grid", "written"), "silu": SILU.without("grid", "written", "quotient")}

WHICH_ACTIVATION = Decision(
    "activation",
    "Which activation function is applied?",
    (
        standard("as_asked", lambda asked: asked),
        mistake("ffn_activation_arg_ignored", lambda asked: "relu", "always_relu"),
        mistake("ffn_activation_arg_ignored", lambda asked: "gelu", "always_gelu"),
        mistake("ffn_activation_arg_ignored", lambda asked: "silu", "always_silu"),
    ),
)


def _activation(arguments: Arguments, point: Point) -> Activate:
    """Return the activation function that is applied, at the points that GELU and SiLU are at."""
    name = point["activation"](arguments["activation"])
    if name == "relu":
        return reference.relu
    return lambda x: _ACTIVATIONS[name].compute({"x": x}, point.part(name))


def _identity(x: Array) -> Array:
    return x


# What is activated: the hidden units, and what comes out of the second matrix, before and after its bias.
PLACE = Decision(
    "activation_place",
    "Where is the activation applied?",
    (
        standard("between", lambda act: (act, _identity, _identity)),
        mistake("ffn_activation_misplaced", lambda act: (_identity, act, _identity), "after_second_matrix"),
        mistake("ffn_activation_misplaced", lambda act: (_identity, _identity, act), "after_second_bias"),
        mistake("ffn_activation_misplaced", lambda act: (act, _identity, act), "between_and_at_the_end"),
        mistake("sublayer_output_discarded", lambda act: (_identity, _identity, _identity), "nowhere"),
    ),
)


HIDDEN_BIAS = Decision(
    "hidden_bias",
    "Where is b₁ added?",
    (
        standard("before_activation", lambda act, inner, bias: act(inner if bias is None else inner + bias)),
        mistake(
            "ffn_bias_after_activation", lambda act, inner, bias: act(inner) if bias is None else act(inner) + bias
        ),
        mistake("", lambda act, inner, bias: act(inner), "dropped", "b₁ is not added"),
        mistake("ffn_bias_none_is_ones", lambda act, inner, bias: act(inner + (1.0 if bias is None else bias))),
    ),
)


def _of_each_shard(count: int) -> Callable[[Array, Array | None], Array]:
    return lambda output, bias: output if bias is None else output + count * bias


OUTPUT_BIAS = Decision(
    "output_bias",
    "Is b₂ added?",
    (
        standard("where_given", lambda output, bias: output if bias is None else output + bias),
        mistake("ffn_output_bias_dropped", lambda output, bias: output),
        mistake("ffn_bias_none_is_ones", lambda output, bias: output + (1.0 if bias is None else bias)),
        *(mistake("output_bias_of_each_shard", _of_each_shard(count), f"of_{count}_shards") for count in (2, 4, 8)),
    ),
)


def _without_mean(axis: int) -> Activate:
    return lambda inner: inner - inner.mean(axis=axis, keepdims=True)


# What is done to the product with the first matrix, and to the sum with its bias.
MIXING = Decision(
    "mixing",
    "Do the hidden units see other positions before their activation?",
    (
        standard("each_position_alone", lambda: (_identity, _identity)),
        mistake("ffn_mixes_positions", lambda: (_identity, _without_mean(-2))),
        mistake("ffn_mixes_positions", lambda: (_without_mean(-2), _identity), "mixes_before_bias"),
        mistake("ffn_mixes_positions", lambda: (_identity, _without_mean(0)), "mixes_samples"),
    ),
)


def _weighted(first: int) -> Any:
    return lambda hidden: hidden * np.arange(first, first + hidden.shape[-1], dtype=np.float64)


HIDDEN = Decision(
    "hidden",
    "What becomes of the hidden units?",
    (
        standard("summed_by_second_matrix", _identity),
        mistake("ffn_hidden_centred", lambda hidden: hidden - hidden.mean(axis=-1, keepdims=True)),
        mistake("ffn_hidden_weighted_by_index", _weighted(1)),
        mistake("ffn_hidden_weighted_by_index", _weighted(0), "weighted_from_zero"),
        mistake("", lambda hidden: hidden[..., ::-1], "reversed", "the second matrix reads them in reverse"),
        mistake("", lambda hidden: hidden / hidden.shape[-1], "averaged", "they are averaged instead of summed"),
    ),
)

RESIDUAL = Decision(
    "residual",
    "Is the input added to the output?",
    (
        standard("no", lambda output, x: output),
        mistake("", lambda output, x: output + x, "added", "the input is added to the output"),
    ),
)


def feed_forward(arguments: Arguments, point: Point) -> Array:
    """Return the feed-forward network at a point of the family, of the shape of x."""
    x, weights = np.asarray(arguments["x"], dtype=np.float64), arguments["weights"]
    first, second, last = point["activation_place"](_activation(arguments, point))
    before_bias, after_bias = point["mixing"]()
    inner = before_bias(x @ np.asarray(weights.w_1))
    hidden = point["hidden"](point["hidden_bias"](lambda units: first(after_bias(units)), inner, weights.b_1))
    output = point["output_bias"](second(hidden @ np.asarray(weights.w_2)), weights.b_2)
    result: Array = point["residual"](last(output), x)
    return result


FEED_FORWARD = Family(
    "feed_forward",
    (WHICH_ACTIVATION, PLACE, HIDDEN_BIAS, OUTPUT_BIAS, MIXING, HIDDEN, RESIDUAL),
    feed_forward,
    _ACTIVATIONS,
)

# Functions of the activation and of the two branches, which are what comes out of w_gate and of w_up.
COMBINATION = Decision(
    "combination",
    "How do the two branches meet?",
    (
        standard("activated_gate_times_up", lambda act, gate, up: act(gate) * up),
        mistake("swiglu_gate_up_swapped", lambda act, gate, up: act(up) * gate),
        mistake("glu_branches_added", lambda act, gate, up: act(gate) + up),
        mistake("glu_branches_added", lambda act, gate, up: gate + act(up), "swapped_and_added"),
        mistake("glu_branches_added", lambda act, gate, up: act(gate + up), "added_and_activated"),
        mistake("ffn_activation_misplaced", lambda act, gate, up: act(gate * up), "product_activated"),
        mistake("ffn_activation_misplaced", lambda act, gate, up: gate * up, "nowhere"),
        mistake("ffn_activation_misplaced", lambda act, gate, up: act(gate) * act(up), "both_activated"),
        mistake("glu_gate_units_reversed", lambda act, gate, up: act(gate[..., ::-1]) * up),
        mistake("glu_gate_of_first_position", lambda act, gate, up: act(gate[..., :1, :]) * up),
        mistake("", lambda act, gate, up: act(gate), "gate_alone", "the up branch is not used"),
        mistake("", lambda act, gate, up: act(up), "up_alone", "the gate is not used"),
        mistake("", lambda act, gate, up: act(gate) * gate, "gate_twice", "the gate stands in both branches"),
        mistake("", lambda act, gate, up: act(up) * up, "up_twice", "the up branch stands in both branches"),
    ),
)

AFTER_GATE = Decision(
    "output_activation",
    "Is the output activated?",
    (
        standard("no", lambda act: _identity),
        mistake("ffn_activation_misplaced", lambda act: act, "activated"),
    ),
)


def gated_feed_forward(arguments: Arguments, point: Point) -> Array:
    """Return the gated feed-forward network at a point of the family, of the shape of x."""
    x, weights = np.asarray(arguments["x"], dtype=np.float64), arguments["weights"]
    w_gate, w_up, w_down = (np.asarray(matrix) for matrix in (weights.w_gate, weights.w_up, weights.w_down))
    act = _activation(arguments, point)
    before_bias, after_bias = point["mixing"]()
    hidden = point["hidden"](point["combination"](act, after_bias(before_bias(x @ w_gate)), x @ w_up))
    result: Array = point["residual"](point["output_activation"](act)(hidden @ w_down), x)
    return result


GATED_FEED_FORWARD = Family(
    "gated_feed_forward",
    (WHICH_ACTIVATION, COMBINATION, MIXING, HIDDEN, AFTER_GATE, RESIDUAL),
    gated_feed_forward,
    _ACTIVATIONS,
)
