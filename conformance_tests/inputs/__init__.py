"""The inputs of one call: arrays, what may be done to them, the expected result and its error bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from veriformer.conformance_tests.cases.batches import AnyCase, TakenOut
from veriformer.conformance_tests.cases.rarities.rarity import RareCase
from veriformer.conformance_tests.cases.values import round_to_dtype
from veriformer.conformance_tests.inputs.attention import AttentionInputs
from veriformer.conformance_tests.inputs.backward import BackwardInputs
from veriformer.conformance_tests.inputs.black_box import BoxInputs
from veriformer.conformance_tests.inputs.changes import changed
from veriformer.conformance_tests.inputs.decoding import DecodingInputs
from veriformer.conformance_tests.inputs.embedding import EmbeddingInputs
from veriformer.conformance_tests.inputs.feed_forward import (
    ActivationInputs,
    FeedForwardInputs,
    FeedForwardMatrices,
    GatedMatrices,
)
from veriformer.conformance_tests.inputs.layers import LayerInputs
from veriformer.conformance_tests.inputs.loss import CrossEntropyInputs
from veriformer.conformance_tests.inputs.merging import MergeInputs
from veriformer.conformance_tests.inputs.models import TokenInputs, TranslationInputs
from veriformer.conformance_tests.inputs.multi_head import MultiHeadInputs, Projections
from veriformer.conformance_tests.inputs.relative_positions import AlibiInputs, BucketInputs
from veriformer.conformance_tests.inputs.rotary import RotaryInputs
from veriformer.conformance_tests.inputs.single_head import HeadProjections, SingleHeadInputs
from veriformer.conformance_tests.inputs.tables import CausalMaskInputs, PaddingMaskInputs, PositionInputs
from veriformer.conformance_tests.inputs.vectors import LayerNormInputs, RmsNormInputs, SoftmaxInputs

_INPUTS: dict[str, Any] = {
    "softmax": SoftmaxInputs,
    "scaled_dot_product_attention": AttentionInputs,
    "grouped_query_attention": AttentionInputs,
    "attention_weights": AttentionInputs,
    "scaled_dot_product_attention_backward": BackwardInputs,
    "single_head_attention": SingleHeadInputs,
    "multi_head_attention": MultiHeadInputs,
    "causal_mask": CausalMaskInputs,
    "padding_mask": PaddingMaskInputs,
    "sinusoidal_positions": PositionInputs,
    "rotary_embedding": RotaryInputs,
    "alibi_bias": AlibiInputs,
    "relative_position_bucket": BucketInputs,
    "layer_norm": LayerNormInputs,
    "token_embedding": EmbeddingInputs,
    "cross_entropy": CrossEntropyInputs,
    "rms_norm": RmsNormInputs,
    "gelu": ActivationInputs,
    "silu": ActivationInputs,
    "feed_forward": FeedForwardInputs,
    "gated_feed_forward": FeedForwardInputs,
    "merge_attention": MergeInputs,
    "encoder_layer": LayerInputs,
    "decoder_layer": LayerInputs,
    "encoder": TokenInputs,
    "encoder_decoder": TranslationInputs,
    "language_model": TokenInputs,
    "decode_step": DecodingInputs,
    "model": BoxInputs,
}
_MATRICES: dict[str, Any] = {"feed_forward": FeedForwardMatrices, "gated_feed_forward": GatedMatrices}


def draw_inputs(operation: str, case: AnyCase) -> Any:
    """Return the inputs that a case describes, of the kind that the operation takes."""
    if isinstance(case, TakenOut):
        return draw_inputs(operation, case.whole).take_samples(np.array(case.samples))
    if isinstance(case, RareCase):
        return changed(draw_inputs(operation, case.whole), case.changes, case.seed)
    return _INPUTS[operation].draw(operation, case)


def given_inputs(operation: str, dtype: str, arguments: Mapping[str, Any]) -> Any:
    """Return inputs made of given arguments: floats become arrays of values that the dtype can hold.

    Raises TypeError when the arguments are not those of the operation.
    """
    arrays = {name: _array(value, dtype) for name, value in arguments.items()}
    if operation in ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights"):
        return AttentionInputs(operation, dtype, **{"value": None, **arrays})
    if operation == "scaled_dot_product_attention_backward":
        return BackwardInputs(operation=operation, dtype=dtype, **arrays)
    if operation == "causal_mask":
        return CausalMaskInputs(**arguments)
    if operation == "sinusoidal_positions":
        return PositionInputs(dtype=dtype, **arguments)
    if operation == "padding_mask":
        return PaddingMaskInputs(**arrays)
    if operation == "multi_head_attention":
        weights = {name: _array(matrix, dtype) for name, matrix in arrays.pop("weights").items()}
        kv_heads = arrays.pop("num_kv_heads", arrays["num_heads"])
        return MultiHeadInputs(dtype, weights=Projections(**weights), num_kv_heads=kv_heads, **arrays)
    if operation == "single_head_attention":
        heads = {name: _array(matrix, dtype) for name, matrix in arrays.pop("weights").items()}
        return SingleHeadInputs(dtype, weights=HeadProjections(**heads), **arrays)
    if operation in ("gelu", "silu"):
        return ActivationInputs(operation, dtype, **arrays)
    if operation in _MATRICES:
        weights = {name: _array(matrix, dtype) for name, matrix in arrays.pop("weights").items()}
        return FeedForwardInputs(operation, dtype, weights=_MATRICES[operation](**weights), **arrays)
    return _INPUTS[operation](dtype, **arrays)


def _array(value: Any, dtype: str) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    array = np.asarray(value)
    return round_to_dtype(array, dtype) if array.dtype.kind == "f" else array
