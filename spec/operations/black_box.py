"""A model as a black box."""

from __future__ import annotations

from veriformer.spec.operations.models import PADDING_MASK
from veriformer.spec.operations.operation import UNKNOWN, Operation, Parameter

MODEL = Operation(
    name="model",
    prefix="model",
    summary="Any model of sequences, of which nothing is known but what it takes.",
    parameters=(
        Parameter("inputs", "(B, L, E) or int (B, L)", "float", "positional", "vectors or numbers of tokens"),
        PADDING_MASK,
        Parameter(
            "parts", "int, the lengths of parts", "scalar", "feature", "feed the inputs in parts, each with the cache"
        ),
        Parameter(
            "cotangent", "(B, L, ·)", "float", "feature", "return derivatives of ⟨cotangent, result⟩ by each parameter"
        ),
        Parameter("labels", "(B, L)", "int", "feature", "return the loss, a scalar; −100 marks what is ignored"),
        Parameter(
            "samples", "(B,)", "int", "feature", "give each sample the other arguments of the sample of this number"
        ),
    ),
    result="(B, L, ·)",
    formula=UNKNOWN,
    source="the interface of an implementation under test (docs/interface.md)",
    place=29,
)

OPERATIONS = (MODEL,)
