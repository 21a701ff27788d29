"""The gradients of what attention adds to its logits: a learned bias, and sinks."""

from __future__ import annotations

from veriformer.spec.operations.attention import SCALED_DOT_PRODUCT_ATTENTION
from veriformer.spec.operations.gradients import backward_of

# What else is kept in which precision on the way back is every kernel's own.
_CONVENTIONS = (
    "layout",
    "mask_polarity",
    "causal_alignment",
    "causal_with_mask",
    "empty_row",
    "window_counting",
    "softmax_dtype",
)
ATTENTION_BIAS_BACKWARD = backward_of(
    SCALED_DOT_PRODUCT_ATTENTION,
    ("bias",),
    name="attention_bias_backward",
    prefix="bias_backward",
    summary="The gradient of a loss with respect to the bias of attention, given that of the output.",
    formula="dbias = P ∘ (dO Vᵀ − rowsum(P ∘ dO Vᵀ)), P the weights of the forward pass, summed over the axes that"
    " the bias lacks or has in size one",
    source="Raffel et al. 2020 (T5), section 2.1: a learned scalar is added to each logit; Dao et al. 2022"
    " (FlashAttention), appendix B.2",
    conventions=_CONVENTIONS,
)
ATTENTION_SINKS_BACKWARD = backward_of(
    SCALED_DOT_PRODUCT_ATTENTION,
    ("sinks",),
    name="attention_sinks_backward",
    prefix="sinks_backward",
    summary="The gradient of a loss with respect to the sinks of attention, given that of the output.",
    formula="dσ_h = −Σ_b Σ_i p_σ[b, h, i] (dO · O)[b, h, i], p_σ the weight that the sink takes from query i",
    source="OpenAI 2025 (gpt-oss model card), section 2.2, by the chain rule",
    conventions=_CONVENTIONS,
)

OPERATIONS = (ATTENTION_BIAS_BACKWARD, ATTENTION_SINKS_BACKWARD)
