"""The learned arrays of whole Transformers, read by attribute, and how many numbers they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from veriformer.reference.array_types import Array, Float
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.layer_weights import DecoderLayerWeights, EncoderLayerWeights, NormWeights
from veriformer.reference.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights

Maker = Callable[[str, tuple[int, ...]], Any]
Role = Literal["table", "matrix", "gain", "shift", "bias"]


@dataclass(frozen=True)
class GainWeights:
    """The gain of an RMS normalisation, which has no shift.

    Shapes: gamma (E,).
    Raises: nothing; `rms_norm` checks the shape.
    Source: Zhang & Sennrich 2019, section 4.
    """

    gamma: Float[Array, " E"]
    beta: None = None


@dataclass(frozen=True)
class GatedLayerWeights:
    """The weights of a layer with RMS norms and a gated feed-forward network.

    Shapes: as in `MultiHeadWeights`, `GainWeights` and `GatedFeedForwardWeights`.
    Raises: nothing; the operations that read them check the shapes.
    Source: Touvron et al. 2023 (LLaMA), section 2.2.
    """

    self_attention: MultiHeadWeights
    norm_1: NormWeights | GainWeights
    feed_forward: GatedFeedForwardWeights
    norm_2: NormWeights | GainWeights


@dataclass(frozen=True)
class TransformerWeights:
    """The weights of an encoder or a language model.

    Shapes: embedding (N, E), positions (max_length, E) or None, unembedding (E, N), None where tied and in encoders.
    `embedding_norm` and `final_norm` are None where the architecture has none; `layers` from the first to the last.
    Raises: nothing; the operations that read them check the shapes.
    Source: Devlin et al. 2019; Radford et al. 2019; Touvron et al. 2023.
    """

    embedding: Float[Array, "N E"]
    positions: Float[Array, "max_length E"] | None
    embedding_norm: NormWeights | GainWeights | None
    layers: Sequence[Any]
    final_norm: NormWeights | GainWeights | None
    unembedding: Float[Array, "E N"] | None


@dataclass(frozen=True)
class EncoderDecoderWeights:
    """The weights of an encoder-decoder; source and target share one embedding.

    Shapes: embedding (N, E), each position table (max_length, E) or None, unembedding (E, N) or None where tied.
    Raises: nothing; the operations that read them check the shapes.
    Source: Vaswani et al. 2017, section 3.4; Lewis et al. 2020.
    """

    embedding: Float[Array, "N E"]
    encoder_positions: Float[Array, "max_length E"] | None
    decoder_positions: Float[Array, "max_length E"] | None
    encoder_embedding_norm: NormWeights | None
    decoder_embedding_norm: NormWeights | None
    encoder_layers: Sequence[EncoderLayerWeights]
    decoder_layers: Sequence[DecoderLayerWeights]
    encoder_final_norm: NormWeights | None
    decoder_final_norm: NormWeights | None
    unembedding: Float[Array, "E N"] | None


@runtime_checkable
class HasTransformerWeights(Protocol):
    """Any object with the attributes of `TransformerWeights`."""

    @property
    def embedding(self) -> Float[Array, "N E"]:
        """The vectors of the tokens."""

    @property
    def positions(self) -> Float[Array, "max_length E"] | None:
        """The learned vectors of the positions."""

    @property
    def embedding_norm(self) -> Any:
        """The norm after the embeddings."""

    @property
    def layers(self) -> Any:
        """The layers, first to last."""

    @property
    def final_norm(self) -> Any:
        """The norm after the last layer."""

    @property
    def unembedding(self) -> Float[Array, "E N"] | None:
        """The matrix of the logits."""


def weight_tree(
    config: TransformerConfiguration, make: Maker, *, encoder_only: bool = False
) -> TransformerWeights | EncoderDecoderWeights:
    """Build the weights of an architecture, each array made by `make(name, shape)`.

    The tree of "vaswani" and "bart" is `EncoderDecoderWeights`, of the others `TransformerWeights`; an encoder has no
    logits and no unembedding.

    Shapes: as in these two.
    Raises: what `make` raises.
    Source: as `configure`.
    """
    builder = _Builder(config, make)
    if config.architecture in ("vaswani", "bart"):
        return builder.encoder_decoder()
    return builder.single_stack(encoder_only or config.architecture == "bert")


def arrays_of(weights: Any) -> Iterator[Float[Array, "*shape"]]:
    """Yield every array of a weight tree, None left out.

    Shapes: as they are.
    Raises: nothing.
    Source: none; records, lists and arrays are walked in their order.
    """
    if isinstance(weights, np.ndarray):
        yield weights
    elif is_dataclass(weights):
        for field in fields(weights):
            yield from arrays_of(getattr(weights, field.name))
    elif isinstance(weights, list | tuple):
        for part in weights:
            yield from arrays_of(part)


def names_of(weights: Any) -> Iterator[str]:
    """Yield the name of every array in its record, in the order of `arrays_of`.

    Shapes: none.
    Raises: nothing.
    Source: none; the names are those of the records' members, as "w_q" and "gamma".
    """
    if is_dataclass(weights):
        for field in fields(weights):
            member = getattr(weights, field.name)
            yield from (field.name,) if isinstance(member, np.ndarray) else names_of(member)
    elif isinstance(weights, list | tuple):
        for part in weights:
            yield from names_of(part)


def role_of(name: str) -> Role:
    """Return what an array is for, by its name in its record and whatever its number of axes.

    A table has a row for each token or position, whether or not it is tied to the logits; an unembedding of its own is
    a matrix, as every other array that vectors are multiplied with.

    Shapes: none.
    Raises: nothing.
    Source: none; the names are those of `TransformerWeights` and of what it holds.
    """
    if name.endswith(("embedding", "positions")) and name != "unembedding":
        return "table"
    if name.startswith("b_"):
        return "bias"
    roles: dict[str, Role] = {"gamma": "gain", "beta": "shift"}
    return roles.get(name, "matrix")


def map_weights(function: Callable[..., Any], weights: Any, *others: Any) -> Any:
    """Return a tree of records and lists whose arrays are a function's results on those in the same place of several.

    Shapes: those of the results.
    Raises: what the function raises; AttributeError where another tree lacks a member of the first.
    Source: none; the first tree's records, lists and arrays are walked in their order, None stays.
    """
    if weights is None:
        return None
    if isinstance(weights, list | tuple):
        return [map_weights(function, *parts) for parts in zip(weights, *others, strict=True)]
    if not is_dataclass(weights) or isinstance(weights, type):
        return function(weights, *others)
    names = [field.name for field in fields(weights)]
    trees = (weights, *others)
    return replace(weights, **{name: map_weights(function, *(getattr(tree, name) for tree in trees)) for name in names})


def parameter_count(config: TransformerConfiguration) -> int:
    """Count the learned numbers of an architecture in its weight tree, without the memory that they would take.

    Shapes: none.
    Raises: nothing.
    Source: Vaswani et al. 2017, table 3, has 65 and 213 million. The base model's own sizes give 63.1 million: the
    table's figure would need a vocabulary of 40.8 thousand, where section 5.1 has 37. The big model's give 214.
    """

    def without_memory(_: str, shape: tuple[int, ...]) -> Float[Array, "*shape"]:
        return np.broadcast_to(np.zeros(()), shape)

    return sum(array.size for array in arrays_of(weight_tree(config, without_memory)))


class _Builder:
    """Makes the parts of a tree in the order of the computation."""

    def __init__(self, config: TransformerConfiguration, make: Maker) -> None:
        self.config = config
        self.make = make

    def single_stack(self, encoder_only: bool) -> TransformerWeights:
        config = self.config
        return TransformerWeights(
            embedding=self._embedding(),
            positions=self._positions(),
            embedding_norm=self._norm() if config.embedding_norm else None,
            layers=[self._layer() for _ in range(config.num_layers)],
            final_norm=self._norm() if config.final_norm else None,
            unembedding=None if encoder_only else self._unembedding(),
        )

    def encoder_decoder(self) -> EncoderDecoderWeights:
        config = self.config
        return EncoderDecoderWeights(
            embedding=self._embedding(),
            encoder_positions=self._positions(),
            decoder_positions=self._positions(),
            encoder_embedding_norm=self._norm() if config.embedding_norm else None,
            decoder_embedding_norm=self._norm() if config.embedding_norm else None,
            encoder_layers=[self._layer() for _ in range(config.num_layers)],
            decoder_layers=[self._decoder_layer() for _ in range(config.num_layers)],
            encoder_final_norm=self._norm() if config.final_norm else None,
            decoder_final_norm=self._norm() if config.final_norm else None,
            unembedding=self._unembedding(),
        )

    def _embedding(self) -> Any:
        return self.make("embedding", (self.config.vocabulary_size, self.config.d_model))

    def _positions(self) -> Any:
        config = self.config
        return self.make("positions", (config.max_length, config.d_model)) if config.has_position_table else None

    def _unembedding(self) -> Any:
        config = self.config
        return None if config.tied_embedding else self.make("unembedding", (config.d_model, config.vocabulary_size))

    def _layer(self) -> Any:
        kind: Any = GatedLayerWeights if self.config.gated else EncoderLayerWeights
        return kind(self._attention(), self._norm(), self._feed_forward(), self._norm())

    def _decoder_layer(self) -> DecoderLayerWeights:
        attention, norm = self._attention(), self._norm()
        cross_attention, cross_norm = self._attention(), self._norm()
        return DecoderLayerWeights(attention, norm, cross_attention, cross_norm, self._feed_forward(), self._norm())

    def _norm(self) -> Any:
        width = (self.config.d_model,)
        gamma = self.make("gamma", width)
        return GainWeights(gamma) if self.config.norm == "rms_norm" else NormWeights(gamma, self.make("beta", width))

    def _bias(self, name: str, size: int) -> Any:
        return self.make(name, (size,)) if self.config.biases else None

    def _attention(self) -> MultiHeadWeights:
        width = self.config.d_model
        narrow = width // self.config.num_heads * self.config.num_kv_heads
        sizes = {"q": (width, width), "k": (width, narrow), "v": (width, narrow), "o": (width, width)}
        matrices = {f"w_{name}": self.make(f"w_{name}", shape) for name, shape in sizes.items()}
        biases = {f"b_{name}": self._bias(f"b_{name}", shape[1]) for name, shape in sizes.items()}
        return MultiHeadWeights(**matrices, **biases)

    def _feed_forward(self) -> Any:
        width, hidden = self.config.d_model, self.config.d_ff
        if self.config.gated:
            gate, up = self.make("w_gate", (width, hidden)), self.make("w_up", (width, hidden))
            return GatedFeedForwardWeights(gate, up, self.make("w_down", (hidden, width)))
        w_1, b_1 = self.make("w_1", (width, hidden)), self._bias("b_1", hidden)
        return FeedForwardWeights(w_1, self.make("w_2", (hidden, width)), b_1, self._bias("b_2", width))
