"""The family of attention of one head: projections of one sequence before the family of attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.multi_head.variants.formula import MULTI_HEAD
from veriformer.conformance_tests.operations.multi_head.variants.projections import PROJECTIONS
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

SCALE_WIDTH = Decision(
    "scale_width",
    "Whose width does the scale take the root of?",
    (
        standard("of_a_key", lambda query, _: query),
        mistake("scale_by_d_model_not_head_dim", lambda query, width: query * (query.shape[-1] / width) ** 0.5),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the output of one head at a point of the family."""
    x, weights, mask = arguments["x"], arguments["weights"], arguments.get("mask")
    own: Any = {role: (getattr(weights, f"w_{role}"), None) for role in "qkv"}
    named = point["projections"](own)
    query, key, value = ((x @ named[role][0])[:, None] for role in "qkv")
    query = point["scale_width"](query, x.shape[-1])
    optional = {name: arguments[name] for name in ("dtype",) if name in arguments}
    if mask is not None:
        optional["mask"] = mask if mask.ndim == 2 else mask[:, None]
    attended = point.part("attention").compute({"query": query, "key": key, "value": value, **optional})
    return np.asarray(attended[:, 0])


# With one head, the root of the number of heads is 1: no scale at all, which has a name.
_OF_HEADS = ("grouping", "scale=number_of_heads")
_OF_A_FLAG = ("causal_beside_mask", "causal_when", "causal_alignment", "causal_diagonal", "causal_use")
SINGLE_HEAD = Family(
    "single_head_attention",
    (PROJECTIONS, SCALE_WIDTH),
    compute,
    {"attention": MULTI_HEAD.parts["attention"].without(*_OF_HEADS, "operands=values_are_keys", *_OF_A_FLAG)},
    needs_dtype=True,
)
