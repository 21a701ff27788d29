"""Rotary positions, which queries and keys are turned by."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

ROTARY_EMBEDDING = Operation(
    name="rotary_embedding",
    prefix="rotary",
    summary="Turn each pair of components by an angle proportional to the position.",
    parameters=(
        Parameter(
            "x",
            "(B, H, L, D)",
            "float",
            "positional",
            "queries or keys; D even",
            also_called="q input inputs t xq query tensor h u qork",
        ),
        Parameter(
            "positions",
            "(L,) or (B, L)",
            "int",
            "positional",
            "position of each row, counted from 0",
            also_called="positionids pos position inputpos tokenpositions m idx",
        ),
        Parameter(
            "base",
            "",
            "scalar",
            "feature",
            "ratio of the geometric frequencies, 10000 by default",
            also_called="theta ropetheta basetheta freqbase",
        ),
        Parameter(
            "rotary_dim",
            "",
            "scalar",
            "feature",
            "r, how many leading components turn; even, D by default",
            also_called="rotdim ropedim ndims",
        ),
    ),
    result="(B, H, L, D)",
    formula="(y_a, y_b) = (x_a cos pθ_k − x_b sin pθ_k, x_b cos pθ_k + x_a sin pθ_k), θ_k = base^(−2k/r),"
    " the k-th pair (a, b) = (2k, 2k + 1) interleaved, or (k, k + r/2) half",
    source="Su et al. 2021, RoFormer, section 3.2.2",
    conventions=("rotary_pairing",),
    place=11,
    also_called=(
        "rotaryembedding rope rotaryposemb rotary rotaryemb rotarypositionembedding rotaryembeddings "
        "ropeemb rotarypositions rotateqk rotarypositionalembedding ropeembedding"
    ),
)

OPERATIONS = (ROTARY_EMBEDDING,)
