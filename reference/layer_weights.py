"""The learned arrays of whole layers, read by attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from veriformer.reference.array_types import Array, Float
from veriformer.reference.weights import HasFeedForwardWeights, HasMultiHeadWeights


@dataclass(frozen=True)
class NormWeights:
    """The gain and shift of a layer normalisation.

    Shapes: gamma (E,), beta (E,).
    Raises: nothing; `layer_norm` checks the shapes.
    Source: Ba, Kiros & Hinton 2016, section 3.
    """

    gamma: Float[Array, " E"]
    beta: Float[Array, " E"]


@runtime_checkable
class HasNormWeights(Protocol):
    """Any object with the attributes of `NormWeights`."""

    @property
    def gamma(self) -> Float[Array, " E"]:
        """Gain."""

    @property
    def beta(self) -> Float[Array, " E"]:
        """Shift."""


@dataclass(frozen=True)
class EncoderLayerWeights:
    """The weights of an encoder layer; norms are numbered in the order of their sublayers.

    Shapes: as in `MultiHeadWeights`, `NormWeights` and `FeedForwardWeights`.
    Raises: nothing; the operations that read them check the shapes.
    Source: Vaswani et al. 2017, section 3.1.
    """

    self_attention: HasMultiHeadWeights
    norm_1: HasNormWeights
    feed_forward: HasFeedForwardWeights
    norm_2: HasNormWeights


@runtime_checkable
class HasEncoderLayerWeights(Protocol):
    """Any object with the attributes of `EncoderLayerWeights`."""

    @property
    def self_attention(self) -> HasMultiHeadWeights:
        """Projections of the self-attention."""

    @property
    def norm_1(self) -> HasNormWeights:
        """The norm of the self-attention."""

    @property
    def feed_forward(self) -> HasFeedForwardWeights:
        """The matrices of the feed-forward network."""

    @property
    def norm_2(self) -> HasNormWeights:
        """The norm of the feed-forward network."""


@dataclass(frozen=True)
class DecoderLayerWeights:
    """The weights of a decoder layer; norms are numbered in the order of their sublayers.

    Shapes: as in `MultiHeadWeights`, `NormWeights` and `FeedForwardWeights`.
    Raises: nothing; the operations that read them check the shapes.
    Source: Vaswani et al. 2017, section 3.1.
    """

    self_attention: HasMultiHeadWeights
    norm_1: HasNormWeights
    cross_attention: HasMultiHeadWeights
    norm_2: HasNormWeights
    feed_forward: HasFeedForwardWeights
    norm_3: HasNormWeights


@runtime_checkable
class HasDecoderLayerWeights(Protocol):
    """Any object with the attributes of `DecoderLayerWeights`."""

    @property
    def self_attention(self) -> HasMultiHeadWeights:
        """Projections of the causal self-attention."""

    @property
    def norm_1(self) -> HasNormWeights:
        """The norm of the self-attention."""

    @property
    def cross_attention(self) -> HasMultiHeadWeights:
        """Projections of the attention to the memory."""

    @property
    def norm_2(self) -> HasNormWeights:
        """The norm of the cross-attention."""

    @property
    def feed_forward(self) -> HasFeedForwardWeights:
        """The matrices of the feed-forward network."""

    @property
    def norm_3(self) -> HasNormWeights:
        """The norm of the feed-forward network."""
