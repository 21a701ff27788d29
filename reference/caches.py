"""The cache that decoding keeps between its steps, and whether it fits the next step."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.reference.blocks import KeysAndValues
from veriformer.reference.configuration import TransformerConfiguration


@dataclass(frozen=True)
class DecodingCache:
    """The cache of the tokens so far: the keys and values of every layer.

    Shapes: one (B, G, S, D) pair for each layer, S the number of tokens so far.
    Raises: nothing.
    Source: Shazeer 2019, section 2.4.
    """

    layers: tuple[KeysAndValues, ...]

    @property
    def length(self) -> int:
        """How many tokens the cache holds."""
        return int(self.layers[0].key.shape[2])


def require_fitting_cache(cache: object, batch: int, depth: int, config: TransformerConfiguration) -> None:
    """Raise ValueError unless `cache` continues sequences of this batch in a model of this depth and these heads.

    Shapes: every layer (B, G, S, D), B as the tokens, G and D as the configuration, S the same in all layers.
    Raises: ValueError when it does not.
    Source: Shazeer 2019, section 2.4 (a step continues the sequences that it is given).
    """
    if not isinstance(cache, DecodingCache):
        raise ValueError(
            f"cache must be what decode_step returned for the tokens before, or None; got {type(cache).__name__}; "
            "pass None to start a sequence"
        )
    if len(cache.layers) != depth:
        raise ValueError(
            f"cache must hold keys and values of the model's {depth} layers; got {len(cache.layers)}; "
            "pass the cache that decode_step returned with these weights"
        )
    shape = (batch, config.num_kv_heads, cache.length, config.d_model // config.num_heads)
    for number, layer in enumerate(cache.layers):
        for name, heads in (("keys", layer.key), ("values", layer.value)):
            _require_shape(f"the {name} of layer {number} in the cache", heads.shape, shape)


def _require_shape(name: str, received: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if received != expected:
        raise ValueError(
            f"{name} must have the shape (B, G, S, D) = {expected}, B as in tokens; got {received}; "
            "continue the sequences that the cache was made of, with the model that made it"
        )
