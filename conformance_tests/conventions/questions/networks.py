"""Questions about GELU and about norms, and weights that tell: little else that may be wrong has an effect there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.conventions.asking import LAYERS, Answer, Asking
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.activations.inputs import ActivationInputs
from veriformer.conformance_tests.operations.activations_backward.inputs import ActivationBackwardInputs
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase
from veriformer.conformance_tests.operations.feed_forward.inputs import (
    FeedForwardInputs,
    FeedForwardMatrices,
    GatedMatrices,
)
from veriformer.conformance_tests.operations.feed_forward_backward.inputs import NetworkBackwardInputs
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs, RmsNormInputs
from veriformer.conformance_tests.operations.suites import suite_of

Change = Callable[[Array], Array]

# Relative to their size, the forms of GELU differ most about −2.8: by a tenth.
_LEAST, _MOST = -3.5, -2.25
_HARDLY = 0.125
# The network's output is so many times as large, since the residual stream would hide it otherwise.
_LOUD = 256.0
SILENT_ATTENTION: Mapping[str, Change] = {"w_o": np.zeros_like, "b_o": np.zeros_like}
SILENT_NETWORK: Mapping[str, Change] = {"w_2": np.zeros_like, "b_2": np.zeros_like, "w_down": np.zeros_like}


def gelu_form(asking: Asking) -> Answer:
    """Ask at entries where the forms differ most, on axes longer than one, in networks through unit matrices."""
    x = np.arange(-4.0, 5.0, 0.25).reshape(2, 3, 6)
    if asking.operation == "gelu":
        return asking.compared([ActivationInputs("gelu", asking.widest, x)])
    if asking.operation == "gelu_backward":
        return asking.compared([ActivationBackwardInputs(asking.operation, asking.widest, x, np.ones(x.shape))])
    if asking.operation in LAYERS:
        layer = asking.layer(asking.widest, activation="gelu")
        return asking.until_told([replace(layer, weights=telling_gelu(layer.weights, layer.dtype)), layer])
    if asking.fixed.choices.offered:
        network = FeedForwardCase(2, 3, 6, 12, "gelu", dtype=asking.widest, palette="normal", seed=7)
        return asking.compared([draw_inputs(asking.operation, asking.fixed.choices.applied(network, None))])
    identity = np.eye(x.shape[-1])
    gated = asking.operation.startswith("gated")
    weights = GatedMatrices(identity, identity, identity) if gated else FeedForwardMatrices(identity, identity)
    inputs = FeedForwardInputs(asking.operation, asking.widest, x, weights, "gelu")
    if asking.operation.endswith("_backward"):
        return asking.compared([NetworkBackwardInputs(**vars(inputs), grad_output=np.ones(x.shape))])
    return asking.compared([inputs])


def rms_norm_gain(asking: Asking) -> Answer:
    """Ask with gains that differ."""
    if asking.fixed.choices.offered:
        return asking.compared([_norm_of_its_size(asking)])
    x = np.array([[[1.0, -2.0, 3.0], [2.0, 0.0, -1.0]], [[0.0, 4.0, 1.0], [-1.0, 2.0, -3.0]]])
    return asking.compared([_of_its_kind(asking, RmsNormInputs(asking.dtype, x, np.array([1.0, 2.0, 3.0]), 1e-3))])


def layer_norm_eps(asking: Asking) -> Answer:
    """Ask with a large eps."""
    if asking.operation in LAYERS:
        return asking.compared([asking.layer(asking.dtype, eps=0.5)])
    if asking.fixed.choices.offered:
        return asking.compared([_norm_of_its_size(asking)])
    x = np.array([[[1.0, -2.0, 3.0], [2.0, 0.0, -1.0]]])
    gamma, beta = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, -1.0])
    return asking.compared([_of_its_kind(asking, LayerNormInputs(asking.dtype, x, gamma, beta, 0.5))])


def _of_its_kind(asking: Asking, forward: LayerNormInputs | RmsNormInputs) -> Inputs:
    """Return inputs of a norm, or, with gradients of all sizes, of its backward pass."""
    if asking.operation == forward.operation:
        return forward
    grad_output = 1.0 + np.arange(forward.x.size).reshape(forward.x.shape) % 5
    arguments = {**forward.arguments(), "grad_output": grad_output}
    return suite_of(asking.operation).given_inputs(asking.dtype, arguments)


def _norm_of_its_size(asking: Asking) -> Inputs:
    """Return inputs of a norm of the width and the eps that are offered."""
    case = VectorCase(2, 3, 6, asking.dtype, "normal", eps=0.5, seed=7)
    return draw_inputs(asking.operation, asking.fixed.choices.applied(case, None))


def telling_gelu(tree: Any, dtype: str) -> Any:
    """Return weights of layers that do nothing but their networks, whose activations are small and negative.

    There the erf form and the tanh form differ by a tenth of what they are. What attention does has no effect.
    """
    return with_arrays(
        tree,
        {
            **SILENT_ATTENTION,
            "w_1": lambda array: _HARDLY * array,
            "b_1": lambda array: round_to_dtype(np.linspace(_LEAST, _MOST, len(array)), dtype),
            "w_2": lambda array: _LOUD * array,
        },
    )


def with_arrays(tree: Any, changes: Mapping[str, Change]) -> Any:
    """Return a tree of weights in which every array of these names is changed."""
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{entry.name: _changed(tree, entry.name, changes) for entry in fields(tree)})
    return [with_arrays(part, changes) for part in tree] if isinstance(tree, list | tuple) else tree


def _changed(tree: Any, name: str, changes: Mapping[str, Change]) -> Any:
    value = getattr(tree, name)
    if isinstance(value, np.ndarray):
        return changes[name](value) if name in changes else value
    return with_arrays(value, changes)
