"""The gradients of normalisation, which their backward passes return."""

from __future__ import annotations

from veriformer.spec.operations.gradients import backward_of
from veriformer.spec.operations.normalisation import LAYER_NORM, RMS_NORM

LAYER_NORM_BACKWARD = backward_of(
    LAYER_NORM,
    ("x", "gamma", "beta"),
    summary="The gradients of a loss with respect to vectors, gain and shift, given that of their layer normalisation.",
    formula="dx = (g − mean g − ŷ mean(g ŷ)) / √(var x + eps), g = dO · gamma, ŷ = (x − mean x) / √(var x + eps); "
    "dgamma = Σ dO ŷ, dbeta = Σ dO over the vectors",
    source="Ba, Kiros & Hinton 2016, section 3, differentiated; the derivation layer_norm has the Jacobian",
)
RMS_NORM_BACKWARD = backward_of(
    RMS_NORM,
    ("x", "gamma"),
    summary="The gradients of a loss with respect to vectors and gain, given that of their root-mean-square norm.",
    formula="dx = (g − ŷ mean(g ŷ)) / √(mean x² + eps), g = dO · gamma or dO · (1 + gamma), "
    "ŷ = x / √(mean x² + eps); dgamma = Σ dO ŷ over the vectors",
    source="Zhang & Sennrich 2019, section 4, differentiated; the derivation rms_norm has the Jacobian",
)

OPERATIONS = (LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD)
