"""The gradients of whole Transformers by all their weights, which their backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.models import ENCODER, ENCODER_DECODER, LANGUAGE_MODEL

_STACK = "g ← layer_backward(x_k, g) from the last layer to the first; dT[v] = Σ g over the places of token v"
ENCODER_BACKWARD = backward_of(
    ENCODER,
    ("weights",),
    summary="The gradients of a loss with respect to all weights of an encoder, given that of its vectors.",
    formula=f"g = final_norm_backward(dO); {_STACK}, dP = Σ g over the samples",
    source="Devlin et al. 2019, section 3, differentiated",
)
ENCODER_DECODER_BACKWARD = backward_of(
    ENCODER_DECODER,
    ("weights",),
    summary="The gradients of a loss with respect to all weights of an encoder-decoder, given that of its logits.",
    formula="g = unembed_backward(dz); back through the decoder, whose layers' gradients of the memory add up; back "
    "through the encoder from their sum; a shared table adds up the gradients of all its uses",
    source="Vaswani et al. 2017, section 3, differentiated",
)
LANGUAGE_MODEL_BACKWARD = backward_of(
    LANGUAGE_MODEL,
    ("weights",),
    summary="The gradients of a loss with respect to all weights of a language model, given that of its logits.",
    formula=f"dU = Σ yᵀ dz, g = final_norm_backward(dz Uᵀ); {_STACK}; tied: dT adds up both of its uses",
    source="Radford et al. 2019, section 2.3; Touvron et al. 2023 (LLaMA), section 2.2, differentiated",
)

OPERATIONS = (ENCODER_BACKWARD, ENCODER_DECODER_BACKWARD, LANGUAGE_MODEL_BACKWARD)
