"""Normalisation of each vector."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

LAYER_NORM = Operation(
    name="layer_norm",
    prefix="layer_norm",
    summary="Bring each vector to zero mean and unit variance, then scale and shift it.",
    parameters=(
        Parameter(
            "x",
            "(..., E)",
            "float",
            "positional",
            "vectors along the last axis",
            also_called="input inputs hiddenstates hidden h inp z tensor a u xs",
        ),
        Parameter("gamma", "(E,)", "float", "positional", "gain", also_called="weight w g gain scale alpha a2 weights"),
        Parameter("beta", "(E,)", "float", "positional", "shift", also_called="bias b b2 shift offset"),
        Parameter(
            "eps", "", "scalar", "keyword", "added to the variance", also_called="epsilon varianceepsilon normeps"
        ),
    ),
    result="(..., E)",
    formula="y = (x − mean x) / √(mean (x − mean x)² + eps) · gamma + beta",
    source="Ba, Kiros & Hinton 2016, section 3 (eps is an implementation's addition)",
    conventions=("layer_norm_eps",),
    place=14,
    also_called=(
        "layernorm ln layernormalization layernormalisation normlayer addlayernorm addandlayernorm layernormresidual "
        "residuallayernorm"
    ),
)

RMS_NORM = Operation(
    name="rms_norm",
    prefix="rms_norm",
    summary="Bring each vector to unit root mean square, without centring it, then scale it.",
    parameters=(
        Parameter(
            "x",
            "(..., E)",
            "float",
            "positional",
            "vectors along the last axis",
            also_called="input inputs hiddenstates hidden h inp z tensor a u xs",
        ),
        Parameter("gamma", "(E,)", "float", "positional", "gain", also_called="weight w g gain scale alpha a2 weights"),
        Parameter(
            "eps", "", "scalar", "keyword", "added to the mean square", also_called="epsilon varianceepsilon normeps"
        ),
    ),
    result="(..., E)",
    formula="y = x / √(mean x² + eps) · gamma, or · (1 + gamma)",
    source="Zhang & Sennrich 2019, section 4 (eps is an implementation's addition)",
    conventions=("rms_norm_gain",),
    place=17,
    also_called=(
        "rmsnorm rms t5layernorm rmsnormalization rmslayernorm rootmeansquarenorm rmsnormalize rmsn addrmsnorm "
        "rmsnormresidual residualrmsnorm rmsnormadd"
    ),
)

OPERATIONS = (LAYER_NORM, RMS_NORM)
