"""Tiny configurations of transformers' models, made from the default ones by rules about the names of their numbers.

No model has a table of its own: a width is a width by its name. What the rules do not fit is said by the exception that
the class of the model raises.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedConfig

VOCABULARY = 96
# Layers of as many kinds are taken, one of each.
_MOST_LAYERS = 6
# What no rule fits.
_EXCEPTIONS: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "reformer": {"is_decoder": True, "axial_pos_embds": False},
}
_SPECIAL = re.compile(r"token_(id|index|idx)s?$")
_OF_LIBRARY = frozenset(inspect.signature(PreTrainedConfig.__init__).parameters)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a tiny model; `stages` is how many of a hierarchy are kept, None for all."""

    hidden: int = 32
    heads: int = 4
    key_heads: int = 2
    head: int = 8
    rotated: int = 4
    intermediate: int = 48
    image: int = 32
    patch: int = 8
    stages: int | None = 2


SMALL = Sizes()
# For models that do not fit the small ones: all stages, as many key heads as heads, and more room.
ROOMY = Sizes(hidden=64, key_heads=4, head=16, rotated=8, intermediate=96, image=64, patch=8, stages=None)


def rules(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    """Return what a number becomes by its name, the first expression that is found in it deciding."""
    return (
        (r"drop", 0),
        (r"codebook_size$", 64),
        (r"vocab_size|num_embeddings$", VOCABULARY),
        (r"n_group$|topk_group$|num_expert_group$|first_k_dense|_offset$", 1),
        (r"_period$", 2),
        (r"top_?k|moe_k$|experts?_per_tok|per_token", 2),
        (r"shared_experts$", 1),
        (r"experts$", 4),
        (r"(key_value|kv|key)_heads$|heads?_kv$|num_kv", sizes.key_heads),
        # The heads of Mamba are as wide together as the stream twice.
        (r"mamba_d_ssm$", 2 * sizes.hidden),
        (r"mamba_d_head$|mamba_head_dim$", 2 * sizes.hidden // sizes.heads),
        (r"^d_head$", sizes.head),
        (r"heads?$", sizes.heads),
        (r"rope_head_dim$|^rotary_dim$", sizes.rotated),
        (r"head_dim$|^d_kv$|head_size$|kv_channels$", sizes.head),
        (r"lora_rank$|low_rank", 16),
        (r"intermediate|ffn|^d_ff|_inner|mlp_(dim|size)|inner_dim|feed_?forward_(dim|size)", sizes.intermediate),
        (r"positions?$|position_embeddings$|n_ctx$|max_seq|seq_len|max_\w*length$", 128),
        (r"image_size$|img_size$|^input_size$", sizes.image),
        (r"patch_size$", sizes.patch),
        (r"window", 4),
        (r"num_quer|num_object|num_latents", 8),
        (r"mel|feature_size$", 16),
        (r"_layers?$|depths?$|num_blocks$", 2),
        (r"hidden|embd|embed|d_model|dim$|dims$|width|channels|size", sizes.hidden),
    )


def tiny(config: PreTrainedConfig, sizes: Sizes = SMALL) -> PreTrainedConfig:
    """Return a configuration of the same class whose sizes, and those of the configurations in it, are small."""
    parameters = _parameters(config)
    values = {name: _value(config, one) for name, one in parameters.items() if name in vars(config)}
    kept = _kept_layers(values)
    staged = _stage_lengths(values, sizes)
    special = _special_tokens(values)
    needed = {"num_experts_per_tok": 2, "num_key_value_heads": sizes.key_heads, "head_dim": sizes.head}
    options = {**_EXCEPTIONS.get(config.model_type, {})}
    for name, value in values.items():
        if name in options:
            continue
        # Some classes do not work with their own default of None.
        if value is None and name in needed:
            shrunk = needed[name]
        elif name in special:
            shrunk = special[name]
        elif kept and _is_by_layer(value, values):
            shrunk = [value[index] for index in kept]
        elif kept and value == _layers(values) and _names_layers(name):
            shrunk = len(kept)
        else:
            shrunk = _shrunk(name, value, sizes, staged)
        if _must_be_said(shrunk, value, parameters[name].default):
            options[name] = shrunk
    return type(config)(**options)


def _value(config: PreTrainedConfig, parameter: inspect.Parameter) -> Any:
    try:
        value = getattr(config, parameter.name)
    except (AttributeError, RuntimeError):
        # A number of each layer, which is no attribute of the whole: the one that they were made from.
        value = parameter.default
    return value


def _must_be_said(shrunk: Any, value: Any, default: Any) -> bool:
    # What the class works out from None is left to it, but for what is too large.
    if isinstance(value, PreTrainedConfig) or _differs(shrunk, value):
        return True
    return default is not None and default is not inspect.Parameter.empty and _differs(value, default)


def _differs(one: Any, other: Any) -> bool:
    return type(one) is not type(other) or bool(one != other)


def _parameters(config: PreTrainedConfig) -> Mapping[str, inspect.Parameter]:
    found = inspect.signature(type(config).__init__).parameters
    return {
        name: one
        for name, one in found.items()
        if name not in (*_OF_LIBRARY, "self") and not name.startswith("_") and one.kind is not one.VAR_KEYWORD
    }


def _shrunk(name: str, value: Any, sizes: Sizes, staged: frozenset[int]) -> Any:
    if isinstance(value, PreTrainedConfig):
        return tiny(value, sizes)
    if isinstance(value, Mapping):
        return {key: _section(key, one, sizes) for key, one in value.items()}
    if isinstance(value, list | tuple):
        cut = value[: sizes.stages] if len(value) in staged else value
        return type(value)(_shrunk(name, one, sizes, frozenset()) for one in cut)
    return _number(name, value, sizes)


def _section(key: object, value: Any, sizes: Sizes) -> Any:
    # The sections of rotary positions share the pairs of a head out among themselves.
    if key == "mrope_section":
        pairs = sizes.head // 2
        return [pairs - 2 * (pairs // 4), pairs // 4, pairs // 4]
    return {inner: _section(inner, one, sizes) for inner, one in value.items()} if isinstance(value, Mapping) else value


def _number(name: str, value: Any, sizes: Sizes) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    limit = next((small for pattern, small in rules(sizes) if re.search(pattern, name)), None)
    if value == 3 and limit in (sizes.heads, sizes.key_heads) and "head" in name:
        return 2  # three heads do not share a width of 2ⁿ
    if limit is None or value <= limit or (isinstance(value, float) and limit):
        return value
    return type(value)(limit)


def _names_layers(name: str) -> bool:
    return re.search(r"layers?$|depth$", name) is not None


def _layers(values: Mapping[str, Any]) -> int:
    names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    return next((values[name] for name in names if isinstance(values.get(name), int)), 0)


def _is_by_layer(value: Any, values: Mapping[str, Any]) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1 and len(value) == _layers(values)


def _kept_layers(values: Mapping[str, Any]) -> list[int]:
    """Return the first layer of each kind, at least two; none where no list tells layers apart."""
    lists = [value for value in values.values() if _is_by_layer(value, values)]
    if not lists:
        return []
    first: dict[str, int] = {}
    for index, kind in enumerate(zip(*lists, strict=True)):
        first.setdefault(repr(kind), index)
    kept = list(first.values())[:_MOST_LAYERS]
    return kept if len(kept) > 1 else [0, 1]


def _stage_lengths(values: Mapping[str, Any], sizes: Sizes) -> frozenset[int]:
    """Return the lengths of the lists that have a number for each stage of a hierarchy."""
    if sizes.stages is None:
        return frozenset()
    lists = {
        name: value for name, value in values.items() if isinstance(value, list | tuple) and len(value) > sizes.stages
    }
    stage = re.compile(r"depth|hidden|embed|dim|heads|channels|num_blocks|layers")
    return frozenset(
        len(value) for name, value in lists.items() if stage.search(name) and all(isinstance(one, int) for one in value)
    )


def _special_tokens(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a place in the small vocabulary for each special token beyond it."""
    places: dict[int, int] = {}

    def inside(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [inside(one) for one in value]
        if not isinstance(value, int) or value < VOCABULARY:
            return value
        return places.setdefault(value, VOCABULARY - 1 - len(places))

    return {name: inside(value) for name, value in values.items() if _SPECIAL.search(name)}
