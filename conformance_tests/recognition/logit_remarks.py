"""What stands out in the logits of a model's attentions and may be meant: how a bias and the scale go together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from veriformer.conformance_tests.recognition.biases import bias_of
from veriformer.conformance_tests.recognition.model_reading import ModelReading
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


def _is_normed_as_t5(model: ModelReading) -> bool:
    """Return whether every sublayer has norms, and all are RMS norms, as in T5; older encoders centre them."""
    kinds = [{norm.kind for _, norm in norms_of(one.place)} for one in model.readings if not one.is_expert]
    return bool(kinds) and all(found == {"rms_norm"} for found in kinds)
