"""Stand-ins (temporary)."""

from __future__ import annotations

import math
from veriformer import reference
from veriformer.conformance_tests.families.attention import ATTENTION
from veriformer.conformance_tests.families.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.families.family import Arguments, Array, Family, Point
import numpy as np

BIAS = Decision("bias", "?", (standard("given", lambda x: x), mistake("bias_of_one_by_default", lambda x: 1.0 if x is None else x)))
MERGE = Decision("merge", "?", (standard("m", reference.merge_heads), mistake("heads_merge_without_transpose", lambda x: x.reshape(x.shape[0], x.shape[2], -1))))


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

EPSV = Decision("eps", "?", (standard("given", lambda e: e), mistake("norm_eps_value_mismatch", lambda e: 1e-12)))
PLACE = Decision(
    "eps_placement",
    "?",
    (standard("inside_root", lambda: "inside_root"), convention("outside_root", lambda: "outside_root")),
    convention="layer_norm_eps",
)
VAR = Decision(
    "variance",
    "?",
    (
        standard("biased", lambda c: np.square(c).mean(axis=-1, keepdims=True)),
        mistake("unbiased_variance", lambda c: np.square(c).sum(axis=-1, keepdims=True) / (c.shape[-1] - 1)),
        mistake("layernorm_wrong_axis", lambda c: np.square(c).mean(axis=(-1, -2), keepdims=True)),
    ),
)


def _ln(a: Arguments, point: Point) -> Array:
    x = np.asarray(a["x"], dtype=np.float64)
    c = x - x.mean(axis=-1, keepdims=True)
    v = point["variance"](c)
    e = point["eps"](a["eps"])
    d = np.sqrt(v + e) if point["eps_placement"]() == "inside_root" else np.sqrt(v) + e
    return c / d * a["gamma"] + a["beta"]


LAYER_NORM = Family("layer_norm", (EPSV, PLACE, VAR), _ln)
GAIN = Decision(
    "gain", "?", (standard("gamma", lambda: "gamma"), convention("one_plus_gamma", lambda: "one_plus_gamma")), convention="rms_norm_gain"
)


def _rms(a: Arguments, point: Point) -> Array:
    return reference.rms_norm(a["x"], a["gamma"], eps=a["eps"], gain=point["gain"]())


RMS_NORM = Family("rms_norm", (GAIN,), _rms)
GELU = Decision(
    "gelu_form",
    "?",
    (standard("erf", lambda: "erf"), convention("tanh", lambda: "tanh"), convention("sigmoid", lambda: "sigmoid")),
    convention="gelu_form",
)
ACT = Decision("activation", "?", (standard("given", lambda n: n), mistake("ffn_activation_arg_ignored", lambda n: "relu")))


def _ff(a: Arguments, point: Point) -> Array:
    return reference.feed_forward(
        a["x"], a["weights"], activation=point["activation"](a["activation"]), gelu_form=point["gelu_form"]()
    )


def _gff(a: Arguments, point: Point) -> Array:
    return reference.gated_feed_forward(
        a["x"], a["weights"], activation=point["activation"](a["activation"]), gelu_form=point["gelu_form"]()
    )


FEED_FORWARD = Family("feed_forward", (GELU, ACT), _ff)
GATED_FEED_FORWARD = Family("gated_feed_forward", (GELU, ACT), _gff)
SCALE = Decision("scale", "?", (standard("asked", lambda s, n: math.sqrt(n) if s else 1.0), mistake("embedding_scale_missing", lambda s, n: 1.0)))


def _emb(a: Arguments, point: Point) -> Array:
    return a["table"][a["tokens"]] * point["scale"](a["scale_by_sqrt_d_model"], a["table"].shape[1])


EMBEDDING = Family("embedding", (SCALE,), _emb)
LAYOUT = Decision(
    "layout",
    "?",
    (standard("interleaved", lambda: "interleaved"), convention("concatenated", lambda: "concatenated")),
    convention="sinusoidal_layout",
)
SINUSOIDS = Family(
    "sinusoids", (LAYOUT,), lambda a, p: reference.sinusoidal_positions(a["length"], a["d_model"], layout=p["layout"]())
)
PAIR = Decision("pairing", "?", (standard("interleaved", lambda: "interleaved"), convention("half", lambda: "half")), convention="rotary_pairing")
BASE = Decision("base", "?", (standard("given", lambda b: b), mistake("rope_theta_ignored", lambda b: 1e4)))
ROTARY = Family(
    "rotary",
    (PAIR, BASE),
    lambda a, p: reference.rotary_embedding(a["x"], a["positions"], base=p["base"](a["base"]), pairing=p["pairing"]()),
)
