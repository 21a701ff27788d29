"""The gradients of encoder and decoder layers, which their backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.layers import DECODER_LAYER, ENCODER_LAYER

_THROUGH = (
    "from the last sublayer f with its norm n to the first, g the gradient of its result: pre-norm "
    "dx = g + n_backward(x, f_backward(n(x), g)); post-norm dx = s + f_backward(x, s), s = n_backward(x + f(x), g)"
)
ENCODER_LAYER_BACKWARD = backward_of(
    ENCODER_LAYER,
    ("x", "weights"),
    summary="The gradients of a loss with respect to a stream and the weights of an encoder layer that it passes.",
    formula=_THROUGH,
    source="Vaswani et al. 2017, section 3.1; Xiong et al. 2020, table 1; differentiated; the derivation residual",
)
DECODER_LAYER_BACKWARD = backward_of(
    DECODER_LAYER,
    ("x", "memory", "weights"),
    summary="The gradients of a loss with respect to stream, memory and weights of a decoder layer.",
    formula=f"{_THROUGH}; the memory gets those of the keys and values of the attention to it",
    source="Vaswani et al. 2017, sections 3.1 and 3.2.3; Xiong et al. 2020, table 1; differentiated",
)

OPERATIONS = (ENCODER_LAYER_BACKWARD, DECODER_LAYER_BACKWARD)
