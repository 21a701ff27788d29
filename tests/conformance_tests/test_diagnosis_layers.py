"""Diagnosis of layers and whole Transformers: programs unlike the planted ones are told what they do wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch.nn import functional
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

pytestmark = pytest.mark.long

Array = Any


def diagnosis_of(operation: str, function: Any, **declared: Any) -> Diagnosis:
    """Return what the suite says of one operation."""
    implementation = SimpleNamespace(**{operation: function}, **declared)
    with np.errstate(all="ignore"):
        report = check(implementation, operations=(operation,), seed=11)
    (found,) = report.diagnoses
    return found


def mistakes(diagnosis: Diagnosis) -> tuple[str, ...]:
    return diagnosis.suspects[0].mistakes


class TorchLayer:
    """A layer on PyTorch's functions, one sublayer after the other in a list; a subclass makes the mistake."""

    activations: ClassVar = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}

    def encoder_layer(
        self,
        x: Array,
        weights: Any,
        *,
        num_heads: int,
        norm_first: bool,
        activation: str,
        eps: float,
        padding_mask: Array | None = None,
    ) -> Array:
        self.norm_first, self.eps = norm_first, eps
        bias = self.bias(padding_mask, x)
        x = self.sublayer(x, weights.norm_1, lambda y: self.attention(y, weights.self_attention, num_heads, bias))
        return self.sublayer(x, weights.norm_2, lambda y: self.network(y, weights.feed_forward, activation))

    def bias(self, padding_mask: Array | None, x: Array) -> Array | None:
        if padding_mask is None:
            return None
        return torch.zeros(padding_mask.shape, dtype=x.dtype).masked_fill(~padding_mask, -math.inf)[:, None, None]

    def sublayer(self, x: Array, norm: Any, apply: Callable[[Array], Array]) -> Array:
        return x + apply(self.norm(x, norm)) if self.norm_first else self.norm(x + apply(x), norm)

    def norm(self, x: Array, norm: Any) -> Array:
        return functional.layer_norm(x, x.shape[-1:], norm.gamma, norm.beta, self.eps)

    def attention(self, x: Array, weights: Any, heads: int, bias: Array | None) -> Array:
        query, key, value = (
            functional.linear(x, matrix.T, shift).unflatten(-1, (heads, -1)).movedim(2, 1)
            for matrix, shift in ((weights.w_q, weights.b_q), (weights.w_k, weights.b_k), (weights.w_v, weights.b_v))
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return functional.linear(mixed.movedim(1, 2).flatten(2), weights.w_o.T, weights.b_o)

    def network(self, x: Array, weights: Any, activation: str) -> Array:
        hidden = self.activations[activation](functional.linear(x, weights.w_1.T, weights.b_1))
        return functional.linear(hidden, weights.w_2.T, weights.b_2)


class NormsInputInPlace(TorchLayer):
    """`x = norm(x)` before the sublayer, and then `x + sublayer(x)`."""

    def sublayer(self, x: Array, norm: Any, apply: Callable[[Array], Array]) -> Array:
        if self.norm_first:
            x = self.norm(x, norm)
            return x + apply(x)
        return self.norm(x + apply(x), norm)


class ForgetsResidual(TorchLayer):
    def sublayer(self, x: Array, norm: Any, apply: Callable[[Array], Array]) -> Array:
        return apply(self.norm(x, norm)) if self.norm_first else self.norm(apply(x), norm)


class MasksWithBooleansOfTheOtherSense(TorchLayer):
    def bias(self, padding_mask: Array | None, x: Array) -> Array | None:
        return None if padding_mask is None else torch.logical_not(padding_mask)[:, None, None]


class AlwaysPreNorm(TorchLayer):
    def sublayer(self, x: Array, norm: Any, apply: Callable[[Array], Array]) -> Array:
        return x + apply(self.norm(x, norm))


class ExactGeluOnly(TorchLayer):
    """Two mistakes: the activation is hard-wired, and norms are of post-norm whatever is asked."""

    def sublayer(self, x: Array, norm: Any, apply: Callable[[Array], Array]) -> Array:
        return self.norm(x + apply(x), norm)

    def network(self, x: Array, weights: Any, activation: str) -> Array:
        return super().network(x, weights, "relu")


class TurnsBySineOfX(TorchLayer):
    """Nothing that anybody is known to do."""

    def network(self, x: Array, weights: Any, activation: str) -> Array:
        return torch.sin(3 * super().network(x, weights, activation)) - 0.3 * x.flip(-1)


ENCODER_LAYERS = (
    (NormsInputInPlace, ("prenorm_residual_after_norm",)),
    (ForgetsResidual, ("residual_missing",)),
    (MasksWithBooleansOfTheOtherSense, ("mask_polarity_inverted",)),
    (AlwaysPreNorm, ("norm_after_sublayer_no_residual_norm",)),
    (ExactGeluOnly, ("ffn_activation_arg_ignored", "norm_flag_ignored")),
)
TORCH = {"framework": "torch", "conventions": {"gelu_form": "erf"}}


@pytest.mark.parametrize(("layer", "expected"), ENCODER_LAYERS, ids=lambda value: getattr(value, "__name__", ""))
def test_encoder_layers_in_torch(layer: type[TorchLayer], expected: tuple[str, ...]) -> None:
    assert mistakes(diagnosis_of("encoder_layer", layer().encoder_layer, **TORCH)) == expected


def test_an_unknown_kind_of_mistake_gets_no_confident_name() -> None:
    found = diagnosis_of("encoder_layer", TurnsBySineOfX().encoder_layer, **TORCH)
    assert found.how != "reproduced"
    assert all(suspect.confidence <= 0.5 for suspect in found.suspects)


def numpy_attention(x: Array, context: Array, weights: Any, heads: int, hidden: Array) -> Array:
    """Attend by sums over named axes; what is hidden gets a large negative number."""

    def projected(of: Array, matrix: Array, shift: Array | None) -> Array:
        width = matrix.shape[1] // heads
        found = np.einsum("bie,ehd->bhid", of, matrix.reshape(-1, heads, width))
        return found if shift is None else found + shift.reshape(heads, 1, width)

    query = projected(x, weights.w_q, weights.b_q)
    key, value = projected(context, weights.w_k, weights.b_k), projected(context, weights.w_v, weights.b_v)
    scores = np.einsum("bhid,bhjd->bhij", query, key) * query.shape[-1] ** -0.5
    scores = np.where(hidden, np.float32(-1e30), scores)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    heads_out = np.einsum("bhij,bhjd->bihd", shares / shares.sum(-1, keepdims=True), value)
    result = heads_out.reshape(*x.shape[:2], -1) @ weights.w_o
    return (result if weights.b_o is None else result + weights.b_o).astype(x.dtype)


def numpy_norm(x: Array, norm: Any, eps: float) -> Array:
    return ((x - x.mean(-1, keepdims=True)) * norm.gamma / (x.var(-1, keepdims=True) + eps) ** 0.5 + norm.beta).astype(
        x.dtype
    )


def numpy_network(x: Array, weights: Any, activation: str) -> Array:
    inner = x @ weights.w_1 + (0 if weights.b_1 is None else weights.b_1)
    slope = {"relu": np.inf, "silu": 1.0, "gelu": 1.702}[activation]
    gate = (inner > 0).astype(x.dtype) if activation == "relu" else 1 / (1 + np.exp(-slope * inner))
    return (inner * gate @ weights.w_2 + (0 if weights.b_2 is None else weights.b_2)).astype(x.dtype)


def decoder_layer_with(mistake: str) -> Callable[..., Array]:
    """Return a decoder layer in NumPy that makes a mistake, or two."""

    def decoder_layer(
        x: Array,
        memory: Array,
        weights: Any,
        *,
        num_heads: int,
        norm_first: bool,
        activation: str,
        eps: float,
        padding_mask: Array | None = None,
        memory_padding_mask: Array | None = None,
    ) -> Array:
        length, at = x.shape[1], np.arange(x.shape[1])
        later = at > at[:, None] + ("sees one ahead" in mistake)
        padded = False if padding_mask is None else ~padding_mask[:, None, None]
        absent = False if memory_padding_mask is None else ~memory_padding_mask[:, None, None]
        if "forgets what is absent" in mistake:
            absent = False
        stages = [
            (weights.norm_1, lambda y: numpy_attention(y, y, weights.self_attention, num_heads, later | padded)),
            (weights.norm_2, lambda y: numpy_attention(y, memory, weights.cross_attention, num_heads, absent)),
            (weights.norm_3, lambda y: numpy_network(y, weights.feed_forward, activation)),
        ]
        if "attends to itself twice" in mistake:
            everything = np.zeros((length, length), dtype=bool)
            stages[1] = (
                weights.norm_2,
                lambda y: numpy_attention(y, y, weights.cross_attention, num_heads, everything),
            )
        if "skips the memory" in mistake:
            del stages[1]
        for norm, apply in stages:
            x = x + apply(numpy_norm(x, norm, eps)) if norm_first else numpy_norm(x + apply(x), norm, eps)
        return x

    return decoder_layer


DECODER_LAYERS = (
    ("sees one ahead", ("causal_diagonal_off_by_one",)),
    ("forgets what is absent", ("padding_mask_ignored",)),
    ("attends to itself twice", ("cross_attn_uses_decoder_states",)),
    ("skips the memory", ("sublayer_output_discarded",)),
    ("sees one ahead and forgets what is absent", ("causal_diagonal_off_by_one", "padding_mask_ignored")),
)


@pytest.mark.parametrize(("mistake", "expected"), DECODER_LAYERS)
def test_decoder_layers_in_numpy(mistake: str, expected: tuple[str, ...]) -> None:
    declared = {"framework": "numpy", "conventions": {"gelu_form": "sigmoid"}}
    assert mistakes(diagnosis_of("decoder_layer", decoder_layer_with(mistake), **declared)) == expected


class Gpt:
    """GPT in NumPy, continued from a list of the normed vectors of every layer: a subclass makes the mistake."""

    def language_model(self, tokens: Array, weights: Any, config: Any, *, padding_mask: Array | None = None) -> Array:
        return self.run(tokens, None, weights, config, padding_mask)[0]

    def decode_step(self, tokens: Array, cache: Any, weights: Any, config: Any) -> tuple[Array, Any]:
        return self.run(tokens, cache, weights, config, None)

    def run(self, tokens: Array, cache: Any, weights: Any, config: Any, padding: Array | None) -> tuple[Array, Any]:
        past = 0 if cache is None else cache[0].shape[1]
        x = self.embedded(tokens, weights, past)
        hidden = self.hidden(tokens.shape[1], past, padding)
        kept = []
        for number, layer in enumerate(self.stack(weights)):
            normed = numpy_norm(x, layer.norm_1, config.eps)
            context = normed if cache is None else np.concatenate([cache[number], normed], axis=1)
            kept.append(context)
            x = x + numpy_attention(normed, context, layer.self_attention, config.num_heads, hidden)
            x = x + numpy_network(numpy_norm(x, layer.norm_2, config.eps), layer.feed_forward, "gelu")
        return self.logits(x, weights, config), self.kept(kept, past)

    def embedded(self, tokens: Array, weights: Any, past: int) -> Array:
        return weights.embedding[tokens] + weights.positions[past : past + tokens.shape[1]]

    def hidden(self, length: int, past: int, padding: Array | None) -> Array:
        later = np.arange(past + length) > past + np.arange(length)[:, None]
        return later if padding is None else later | ~padding[:, None, None]

    def stack(self, weights: Any) -> Any:
        return weights.layers

    def logits(self, x: Array, weights: Any, config: Any) -> Array:
        return numpy_norm(x, weights.final_norm, config.eps) @ weights.embedding.T

    def kept(self, kept: list[Array], past: int) -> list[Array]:
        return kept


class StartsAgain(Gpt):
    def embedded(self, tokens: Array, weights: Any, past: int) -> Array:
        return super().embedded(tokens, weights, 0)


class ForgetsFinalNorm(Gpt):
    def logits(self, x: Array, weights: Any, config: Any) -> Array:
        return x @ weights.embedding.T


class RepeatsFirstLayer(Gpt):
    def stack(self, weights: Any) -> Any:
        return [weights.layers[0] for _ in weights.layers]


class TakesPaddingForTheWholeMask(Gpt):
    def hidden(self, length: int, past: int, padding: Array | None) -> Array:
        return super().hidden(length, past, None) if padding is None else ~padding[:, None, None]


class LinesUpAtTheTop(Gpt):
    def hidden(self, length: int, past: int, padding: Array | None) -> Array:
        return np.triu(np.ones((length, past + length), dtype=bool), 1)


class AddsTheTableOfOneRow(Gpt):
    def embedded(self, tokens: Array, weights: Any, past: int) -> Array:
        return weights.embedding[tokens] + weights.positions[past + tokens.shape[1] - 1]


MODELS = (
    ("language_model", ForgetsFinalNorm, ("missing_final_norm_prenorm",)),
    ("language_model", RepeatsFirstLayer, ("layers_share_parameters",)),
    ("language_model", TakesPaddingForTheWholeMask, ("padding_mask_replaces_causal",)),
    ("language_model", AddsTheTableOfOneRow, ("pe_single_row_not_slice",)),
    ("decode_step", StartsAgain, ("learned_position_offset_wrong",)),
    ("decode_step", LinesUpAtTheTop, ("causal_mask_not_offset_by_cache",)),
)


@pytest.mark.parametrize(("operation", "model", "expected"), MODELS)
def test_language_models_in_numpy(operation: str, model: type[Gpt], expected: tuple[str, ...]) -> None:
    declared = {
        "framework": "numpy",
        "conventions": {"gelu_form": "sigmoid"},
        "architectures": {operation: ("gpt",)},
    }
    assert mistakes(diagnosis_of(operation, getattr(model(), operation), **declared)) == expected
