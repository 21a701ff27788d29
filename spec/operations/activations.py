"""The activation functions that have a gate."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ENTRIES = Parameter(
    "x",
    "(...)",
    "float",
    "positional",
    "entries, each on its own",
    also_called="input inputs z hiddenstates t a h u tensor hidden",
)
GELU = Operation(
    name="gelu",
    prefix="gelu",
    summary="Weigh each entry by how probable it is that a standard normal variable lies below it.",
    parameters=(ENTRIES,),
    result="(...)",
    formula="x Φ(x) = x (1 + erf(x/√2)) / 2, or x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, or x σ(1.702 x)",
    source="Hendrycks & Gimpel 2016, section 2",
    conventions=("gelu_form",),
    place=18,
    also_called=(
        "gelu gelutanh gelunew geluapprox gelufast gaussianerrorlinearunit quickgelu gelupytorchtanh geluerf geluexact"
    ),
)
SILU = Operation(
    name="silu",
    prefix="silu",
    summary="Weigh each entry by its own logistic function.",
    parameters=(ENTRIES,),
    result="(...)",
    formula="x σ(x) = x / (1 + e^(−x))",
    source="Hendrycks & Gimpel 2016, section 2; Ramachandran et al. 2017 (Swish with β = 1)",
    place=19,
    also_called="silu swish silufn",
)

OPERATIONS = (GELU, SILU)
