"""Clipping of gradients by the norm of all of them."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

CLIP_BY_GLOBAL_NORM = Operation(
    name="clip_by_global_norm",
    prefix="clip",
    summary="Shrink all gradients by one factor where the norm of all of them together exceeds a bound.",
    parameters=(
        Parameter("gradients", "list of arrays", "weights", "positional", "one for each parameter, of any shapes"),
        Parameter("max_norm", "", "scalar", "keyword", "the largest norm that the result may have, positive"),
    ),
    result="list of arrays, each of its gradient's shape",
    formula="g · min(1, max_norm / ‖g‖) for each array, ‖g‖ = √(Σ over all arrays and entries g²)",
    source="Pascanu, Mikolov & Bengio 2013, section 3.2, algorithm 1",
    conventions=("clip_norm_eps",),
    results=("clipped",),
    records=(("clipped", "gradients"),),
    place=41,
)

OPERATIONS = (CLIP_BY_GLOBAL_NORM,)
