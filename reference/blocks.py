"""The parts of which whole Transformers are composed, by configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64, Int
from veriformer.reference.checks import Sizes, as_axes
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.conventions import EpsPlacement, GeluForm, RmsNormGain, RotaryPairing, SinusoidalLayout
from veriformer.reference.embedding import token_embedding
from veriformer.reference.feed_forward import feed_forward, gated_feed_forward
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.multi_head import merge_heads, split_heads
from veriformer.reference.normalisation import layer_norm, rms_norm
from veriformer.reference.positions import sinusoidal_positions
from veriformer.reference.rotary import rotary_embedding
from veriformer.reference.weights import HasMultiHeadWeights


@dataclass(frozen=True)
class ModelConventions:
    """The conventions that bear on whole Transformers, each at its standard value unless given.

    Shapes: none.
    Raises: nothing; the operations that read a value check it.
    Source: spec/conventions.py.
    Conventions: gelu_form, rotary_pairing, sinusoidal_layout, layer_norm_eps, rms_norm_gain.
    """

    gelu_form: GeluForm = "erf"
    rotary_pairing: RotaryPairing = "interleaved"
    sinusoidal_layout: SinusoidalLayout = "interleaved"
    layer_norm_eps: EpsPlacement = "inside_root"
    rms_norm_gain: RmsNormGain = "gamma"


STANDARD = ModelConventions()


@dataclass(frozen=True)
class KeysAndValues:
    """The keys and values of one layer for every position so far; keys are already rotated.

    Shapes: key and value (B, G, S, D).
    Raises: nothing.
    Source: Shazeer 2019, section 2.4 (incremental multi-head attention).
    """

    key: Float64[Array, "B G S D"]
    value: Float64[Array, "B G S D"]


@dataclass(frozen=True)
class Model:
    """The parts of a model with a configuration and conventions: norms, embeddings, attention, feed-forward.

    Shapes: those of each method.
    Raises: ValueError when an array does not fit.
    Source: Phuong & Hutter 2022, algorithms 1 to 10.
    """

    config: TransformerConfiguration
    conventions: ModelConventions = STANDARD

    def normalise(self, x: Float[Array, "B L E"], norm: Any) -> Float64[Array, "B L E"]:
        """Apply the architecture's norm; return x unchanged if the architecture has none in this place."""
        if norm is None:
            return np.asarray(x, dtype=np.float64)
        if self.config.norm == "rms_norm":
            return rms_norm(x, norm.gamma, eps=self.config.eps, gain=self.conventions.rms_norm_gain)
        placement = self.conventions.layer_norm_eps
        return layer_norm(x, norm.gamma, norm.beta, eps=self.config.eps, eps_placement=placement)

    def embed(
        self,
        tokens: Int[Array, "B L"],
        table: Float[Array, "N E"],
        positions: Float[Array, "max_length E"] | None,
        norm: Any,
        *,
        places: Int[Array, "*B L"] | None = None,
    ) -> Float64[Array, "B L E"]:
        """Look up tokens and add the vectors of their places, 0, 1, … unless given; rotary positions have none.

        x[b, i] = norm(s · table[tokens[b, i]] + p[places[i]]), s = √E where the embedding is scaled, else 1
        """
        scaled = self.config.scale_embedding
        x = token_embedding(tokens, table, scale_by_sqrt_d_model=scaled)
        places = np.arange(x.shape[1]) if places is None else places
        if self.config.positions == "sinusoidal":
            end = int(places.max(initial=-1)) + 1
            x = x + sinusoidal_positions(end, x.shape[2], layout=self.conventions.sinusoidal_layout)[places]
        elif self.config.positions == "learned":
            x = x + _rows(positions, places, x.shape[2])
        return self.normalise(x, norm)

    def attend(
        self,
        x: Float[Array, "B L E"],
        context: Float[Array, "B S E"],
        weights: HasMultiHeadWeights,
        mask: Bool[Array, "#B 1 #L T"] | None,
        *,
        past: KeysAndValues | None = None,
        places: Int[Array, "*B L"] | None = None,
    ) -> tuple[Float64[Array, "B L E"], KeysAndValues]:
        """Attend to the past and the context; return the output, and past and present keys and values.

        Queries and keys are turned by their places if these are given, as for rotary positions.
        """
        config = self.config
        query = split_heads(_project(x, weights.w_q, weights.b_q), config.num_heads)
        key = split_heads(_project(context, weights.w_k, weights.b_k), config.num_kv_heads)
        value = split_heads(_project(context, weights.w_v, weights.b_v), config.num_kv_heads)
        if places is not None:
            query, key = (
                rotary_embedding(a, places, base=config.rotary_base, pairing=self.conventions.rotary_pairing)
                for a in (query, key)
            )
        if past is not None:
            key = np.concatenate([past.key, key], axis=2)
            value = np.concatenate([past.value, value], axis=2)
        heads = grouped_query_attention(query, key, value, mask=mask)
        return _project(merge_heads(heads), weights.w_o, weights.b_o), KeysAndValues(key, value)

    def transform(self, x: Float[Array, "B L E"], weights: Any) -> Float64[Array, "B L E"]:
        """Pass each position through the architecture's feed-forward network."""
        network: Any = gated_feed_forward if self.config.gated else feed_forward
        result: Float64[Array, "B L E"] = network(
            x, weights, activation=self.config.activation, gelu_form=self.conventions.gelu_form
        )
        return result

    def unembed(
        self, x: Float[Array, "B L E"], table: Float[Array, "N E"], unembedding: Float[Array, "E N"] | None
    ) -> Float64[Array, "B L N"]:
        """Return the logits: products with the table's rows where tied, with the unembedding's columns otherwise."""
        sizes: Sizes = {"E": x.shape[2]}
        if self.config.tied_embedding:
            return np.asarray(x @ as_axes("embedding", table, "N E", sizes).T)
        if unembedding is None:
            raise ValueError("unembedding is None, and the embedding is not tied; pass weights of shape (E, N)")
        return np.asarray(x @ as_axes("unembedding", unembedding, "E N", sizes))


def _rows(
    positions: Float[Array, "max_length E"] | None, places: Int[Array, "*B L"], width: int
) -> Float64[Array, "*B L E"]:
    if positions is None:
        raise ValueError("positions is None, and they are learned; pass a table of shape (max_length, E)")
    table = as_axes("positions", positions, "max_length E", {"E": width})
    last = int(places.max(initial=-1))
    if last >= len(table):
        raise ValueError(
            f"the sequence must not be longer than the {len(table)} rows of positions; got position {last}; "
            "count from 0, and cut it, or give the table more rows"
        )
    return table[places]


def _project(
    x: Float[Array, "B L n"], weight: Float[Array, "n m"], bias: Float[Array, " m"] | None
) -> Float64[Array, "B L m"]:
    sizes: Sizes = {"n": x.shape[-1]}
    product = x @ as_axes("a projection", weight, "n m", sizes)
    return np.asarray(product if bias is None else product + as_axes("its bias", bias, "m", sizes))
