"""What stands out in the logits of a model's attentions and may be meant: how a bias and the scale go together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.recognition.biases import bias_of
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.sites import Site
from veriformer.conformance_tests.recognition.stream_parts import norms_of

_ABOUT = 1e-3
_AS_T5 = "the logits are divided by √D beside a bias by buckets; T5, which is built so, does not divide"


def remarks_on_logits(model: ModelReading) -> Iterator[str]:
    """Yield a sentence about each thing that stands out in the logits of all layers."""
    found: dict[str, None] = {}
    for one in model.readings:
        reading = one.attention
        setting = None if reading is None else reading.setting
        if reading is None or setting is None or setting.bias is None or not one.is_judged:
            continue
        bias = bias_of(model.flow, reading)
        width = reading.heads.query.shape[-1]
        scale = setting.scale if setting.scale is not None else 1.0 / math.sqrt(width)
        if bias is None:
            continue
        if bias.kind == "alibi" and scale != 1.0 and math.isclose(bias.factor, scale, rel_tol=_ABOUT):
            found[f"the bias of ALiBi is multiplied by {scale:.4g} as the products of queries and keys are"] = None
        if bias.kind == "buckets" and setting.scale is None and _is_normed_as_t5(model):
            found[_AS_T5] = None
    yield from found
    yield from _sinks_without_effect(model)


def _sinks_without_effect(model: ModelReading) -> Iterator[str]:
    """Yield where a learned number of each head stands beside the logits, and the weights sum to one without it."""
    paths = []
    for one in model.readings:
        setting = None if one.attention is None else one.attention.setting
        if one.attention is not None and setting is not None and setting.sinks is None and one.is_judged:
            paths += [one.path for site in one.attention.sublayer.sites if _has_sinks(model.flow, site)]
    if paths:
        listed = f"{paths[0]}{f' … {paths[-1]}' if len(paths) > 1 else ''}"
        yield f"the sinks beside the logits have no effect in {listed}, since the weights are made to sum to one again"


def _has_sinks(flow: Flow, site: Site) -> bool:
    """Return whether a learned number of each head is joined to the logits of the keys."""
    keys = site.key.shape[2]
    for index in site.steps:
        step = flow.steps[index]
        joins = step.kind == Kind.REARRANGEMENT and any(keys + 1 in flow.shape(one) for one in step.results)
        for operand in step.operands if joins else ():
            behind = flow.ancestors(operand, stop=flow.depends_on_input)
            tables = (one for one in behind if flow.is_fixed(one) and flow.depends_on_parameters(one))
            if flow.is_fixed(operand) and any(flow.array(one).size == site.heads for one in tables):
                return True
    return False


def _is_normed_as_t5(model: ModelReading) -> bool:
    """Return whether every sublayer has norms, and all are RMS norms, as in T5; older encoders centre them."""
    kinds = [{norm.kind for _, norm in norms_of(one.place)} for one in model.readings if not one.is_expert]
    return bool(kinds) and all(found == {"rms_norm"} for found in kinds)
