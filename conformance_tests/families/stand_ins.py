"""Stand-ins (temporary)."""

from __future__ import annotations

from veriformer import reference
from veriformer.conformance_tests.families.attention import ATTENTION
from veriformer.conformance_tests.families.decision import Decision, mistake, standard
from veriformer.conformance_tests.families.family import Arguments, Array, Family, Point

BIAS = Decision(
    "bias", "?", (standard("given", lambda x: x), mistake("bias_of_one_by_default", lambda x: 1.0 if x is None else x))
)
MERGE = Decision(
    "merge",
    "?",
    (
        standard("m", reference.merge_heads),
        mistake("heads_merge_without_transpose", lambda x: x.reshape(x.shape[0], x.shape[2], -1)),
    ),
)


def _mha(a: Arguments, point: Point) -> Array:
    w = a["weights"]
    G = a.get("num_kv_heads") or a["num_heads"]

    def project(x, m, b):
        b = point["bias"](b)
        return x @ m if b is None else x @ m + b

    q = reference.split_heads(project(a["x"], w.w_q, w.b_q), a["num_heads"])
    k = reference.split_heads(project(a["context"], w.w_k, w.b_k), G)
    v = reference.split_heads(project(a["context"], w.w_v, w.b_v), G)
    mask = a.get("mask")
    if a.get("between") is not None:
        q, k, v, mask = a["between"](q, k, v)
    p = point.part("attention")
    h = p.family.compute({"query": q, "key": k, "value": v, "mask": mask}, p)
    return project(point["merge"](h), w.w_o, w.b_o)


MULTI_HEAD = Family("multi_head", (BIAS, MERGE), _mha, {"attention": ATTENTION})
