"""The weights of encoder and decoder layers, by the interface's names."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import is_exact, positive_fill, round_to_dtype
from veriformer.conformance_tests.operations.feed_forward.inputs import FeedForwardMatrices
from veriformer.conformance_tests.operations.layers.cases import LayerCase
from veriformer.conformance_tests.operations.multi_head.inputs import Projections


@dataclass(frozen=True)
class NormParameters:
    """Gain and shift of one norm."""

    gamma: Array
    beta: Array

    @classmethod
    def plain(cls, width: int) -> NormParameters:
        """Return unit gain and no shift."""
        return cls(np.ones(width), np.zeros(width))


@dataclass(frozen=True)
class EncoderLayerParameters:
    """The weights of an encoder layer."""

    self_attention: Projections
    norm_1: NormParameters
    feed_forward: FeedForwardMatrices
    norm_2: NormParameters


@dataclass(frozen=True)
class DecoderLayerParameters:
    """The weights of a decoder layer."""

    self_attention: Projections
    norm_1: NormParameters
    cross_attention: Projections
    norm_2: NormParameters
    feed_forward: FeedForwardMatrices
    norm_3: NormParameters


LayerParameters = EncoderLayerParameters | DecoderLayerParameters


def draw_parameters(case: LayerCase, generator: np.random.Generator) -> LayerParameters:
    """Return the weights of a case's layer: those of a decoder if there is a memory. No two are equal."""
    attention = _projections(case, generator)
    first, second = _norm(case, generator), _norm(case, generator)
    network = _network(case, generator)
    if not case.memory:
        return EncoderLayerParameters(attention, first, network, second)
    cross = _projections(case, generator)
    return DecoderLayerParameters(attention, first, cross, second, network, _norm(case, generator))


def zeroed(weights: Projections | FeedForwardMatrices) -> Projections | FeedForwardMatrices:
    """Return the weights of a sublayer that gives zero: its last matrix, and its last bias if it has one, are zero."""
    if isinstance(weights, Projections):
        return replace(weights, w_o=np.zeros_like(weights.w_o), b_o=_zeros(weights.b_o))
    return replace(weights, w_2=np.zeros_like(weights.w_2), b_2=_zeros(weights.b_2))


def _zeros(bias: Array | None) -> Array | None:
    return None if bias is None else np.zeros_like(bias)


def _projections(case: LayerCase, generator: np.random.Generator) -> Projections:
    width = case.d_model
    matrices = [_matrix(case, generator, width, width) for _ in range(4)]
    biases = [positive_fill(generator, (width,)) if case.biases else None for _ in range(4)]
    return Projections(*matrices, *biases)


def _network(case: LayerCase, generator: np.random.Generator) -> FeedForwardMatrices:
    sizes = case.hidden, case.d_model
    w_1 = _matrix(case, generator, case.d_model, case.hidden)
    w_2 = _matrix(case, generator, case.hidden, case.d_model)
    biases = [positive_fill(generator, (size,)) if case.biases else None for size in sizes]
    return FeedForwardMatrices(w_1, w_2, *biases)


def _norm(case: LayerCase, generator: np.random.Generator) -> NormParameters:
    return NormParameters(positive_fill(generator, (case.d_model,)), positive_fill(generator, (case.d_model,)))


def _matrix(case: LayerCase, generator: np.random.Generator, rows: int, columns: int) -> Array:
    """Return a matrix whose product with a vector is about as large as the vector."""
    if is_exact(case):
        return generator.integers(-1, 2, (rows, columns)).astype(np.float64)
    return round_to_dtype(generator.normal(size=(rows, columns)) * rows**-0.5, case.dtype)
