"""Laws of the gradients of encoder and decoder layers."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.attention_backward import BATCH_INDEPENDENCE
from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.multi_head_backward import ADDITIVE
from veriformer.spec.operations.layers_backward import DECODER_LAYER_BACKWARD, ENCODER_LAYER_BACKWARD

VASWANI = "Vaswani et al. 2017, section 3.1, differentiated"
XIONG = "Xiong et al. 2020, table 1, differentiated"
_BEARING = ("gelu_form", "layer_norm_eps")
_CHAIN = "The gradient passes through one layer after the other"

GRAD_X = Property(
    key="grad_x",
    statement="The gradient of the stream is the sum of that of the result and of what passes through the sublayers "
    "and their norms.",
    formula="pre-norm: dx = g + n_backward(x, f_backward(n(x), g)); post-norm: dx = s + f_backward(x, s), "
    "s = n_backward(x + f(x), g); sublayer by sublayer",
    source=XIONG,
    derivation="residual",
    steps=("The Jacobian of a residual layer is I + ∂f",),
    conventions=_BEARING,
)
GRAD_MEMORY = Property(
    key="grad_memory",
    statement="The gradient of the memory is that of the keys and values of the attention to it.",
    formula="dmemory = dK W_Kᵀ + dV W_Vᵀ of the attention to the memory",
    source="Vaswani et al. 2017, section 3.2.3, differentiated",
    derivation="backward",
    steps=(_CHAIN,),
    conventions=_BEARING,
)


def _of_group(key: str, statement: str, formula: str) -> Property:
    return Property(
        key=key,
        statement=statement,
        formula=formula,
        source=VASWANI,
        derivation="backward",
        steps=(_CHAIN,),
        conventions=_BEARING,
    )


GRAD_SELF_ATTENTION = _of_group(
    "grad_self_attention",
    "The weights of the self-attention have the gradients of multi-head attention at the gradient that reaches it.",
    "d self_attention = multi_head_attention_backward(y, y, g), y what it reads, g the gradient of its result",
)
GRAD_CROSS_ATTENTION = _of_group(
    "grad_cross_attention",
    "The weights of the attention to the memory have the gradients of multi-head attention at what reaches it.",
    "d cross_attention = multi_head_attention_backward(y, memory, g), y what it reads, g the gradient of its result",
)
GRAD_FEED_FORWARD = _of_group(
    "grad_feed_forward",
    "The weights of the network have the gradients of a feed-forward network at the gradient that reaches it.",
    "d feed_forward = feed_forward_backward(y, g), y what it reads, g the gradient of its result",
)
GRAD_NORMS = _of_group(
    "grad_norms",
    "Each norm's gain and shift have the gradients of a layer normalisation at the gradient that reaches it.",
    "dgamma_k = Σ g ŷ, dbeta_k = Σ g, ŷ what the norm made, g the gradient of its result",
)
IDENTITY = Property(
    key="pre_norm.identity",
    statement="If every sublayer gives zero, a pre-norm layer passes the gradient of its result on as it is.",
    formula="norm_first, f_k = 0: dx = dO",
    source=f"{XIONG}; He et al. 2016b, section 2",
    derivation="residual",
    steps=("A residual layer whose sublayer is zero is the identity",),
)
ONES = Property(
    key="pre_norm.sums",
    statement="In a pre-norm layer the gradient of each position has the sum that the gradient of its result has.",
    formula="norm_first: Σ_j dx[i, j] = Σ_j dO[i, j]",
    source=f"{XIONG}; norm(x + c 1) = norm(x)",
    derivation="residual",
    steps=("The Jacobian of pre-norm keeps the direction 1 exactly",),
)
STOPPED = Property(
    key="post_norm.equal_gradients",
    statement="If the gradients of all components of a result are equal and the last norm has unit gain, nothing but "
    "the last shift has a gradient.",
    formula="post-norm, gamma_last = 1, dO[i, j] = c_i: dx = 0, and all gradients but dbeta_last",
    source=VASWANI,
    derivation="residual",
    steps=("A gradient along 1 is stopped, sublayer or not",),
)
PADDED = Property(
    key="padding.no_gradient",
    statement="A padded position has no gradient: no real position sees it, and its own result is no part of a loss.",
    formula="padding_mask[b, i] False: dx[b, i] = 0",
    source="Vaswani et al. 2017, section 3.2.3; docs/interface.md, padding_mask",
    derivation="attention_backward",
    steps=("A key hidden from every query has no gradient", "The value of a hidden key has no gradient"),
    features=("padding_mask",),
)
PADDED_MEMORY = Property(
    key="memory_padding.no_gradient",
    statement="A padded position of the memory has no gradient.",
    formula="memory_padding_mask[b, j] False: dmemory[b, j] = 0",
    source="Vaswani et al. 2017, section 3.2.3; docs/interface.md, memory_padding_mask",
    derivation="attention_backward",
    steps=("A key hidden from every query has no gradient", "The value of a hidden key has no gradient"),
    features=("memory_padding_mask",),
)
FUTURE = Property(
    key="causal.no_future_gradient",
    statement="A loss on a prefix of a decoder layer's result gives no gradient to later positions of the stream.",
    formula="dO[i] = 0 for i ≥ n: dx[i] = 0 for i ≥ n",
    source="Vaswani et al. 2017, section 3.1: predictions depend on earlier positions only",
    derivation="attention_backward",
    steps=(
        "With a causal mask a loss on a prefix sends no gradient to later keys",
        "With a causal mask a loss on a prefix sends no gradient to later values",
    ),
)
SAMPLES = replace(
    BATCH_INDEPENDENCE,
    statement="The gradient of a sample's stream does not depend on the other samples of the batch.",
    formula="dx(inputs)[b] is the same for every inputs[b′], b′ ≠ b",
)
_OF_BOTH = (
    GRAD_X,
    GRAD_SELF_ATTENTION,
    GRAD_FEED_FORWARD,
    GRAD_NORMS,
    IDENTITY,
    ONES,
    STOPPED,
    PADDED,
    SAMPLES,
    ADDITIVE,
    *EVERY_BACKWARD_PASS,
)

LAWS = (
    *state(_OF_BOTH, ENCODER_LAYER_BACKWARD),
    *state((*_OF_BOTH, GRAD_MEMORY, GRAD_CROSS_ATTENTION, PADDED_MEMORY, FUTURE), DECODER_LAYER_BACKWARD),
)
