"""Tiny configurations of transformers' models, made from the default ones by rules about the names of their numbers.

No model has a table of its own: a width is a width by its name. What the rules do not fit is said by the exception that
the class of the model raises.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedConfig, ResNetConfig, SiglipVisionConfig

VOCABULARY = 96
# Layers of as many kinds are taken, one of each.
_MOST_LAYERS = 6


def _rotary(**more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": 10_000.0, **more}


# In place of the models of images that need timm.
_SIGLIP = SiglipVisionConfig.from_dict(
    {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
        "model_args": {"embed_dim": 32},
    }
)
_RESNET = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
_SERIES = {"prediction_length": 4, "lags_sequence": [1, 2, 3], "num_time_features": 1}
# What no rule fits; what is said of a configuration in the configuration is a dictionary of its own.
_EXCEPTIONS: dict[str, dict[str, Any]] = {
    "align": {"projection_dim": 8},
    "align_vision_model": {"width_coefficient": 0.025, "hidden_dim": 32},
    "autoformer": _SERIES,
    "bailing_hybrid": {
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "bamba": {"attn_layer_indices": [1]},
    "bit": {"num_groups": 8},
    "blip-2": {"image_token_index": VOCABULARY - 1},
    "blt": {"encoder_hash_byte_group_vocab": VOCABULARY, "use_cache": False},
    "chameleon": {"vocabulary_map": {"<image>": VOCABULARY - 1}},
    "clap_audio_model": {"spec_size": 128, "num_mel_bins": 32, "patch_embeds_hidden_size": 4},
    "clvp": {"text_config": {"hidden_size": 128}, "speech_config": {"hidden_size": 128}},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _rotary()}},
    "conditional_detr": {"backbone_config": _RESNET},
    "dab-detr": {"backbone_config": _RESNET},
    "dbrx": {"attn_config": {"rope_theta": 10_000.0, "clip_qkv": 8}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "sparse"]},
    "deformable_detr": {"backbone_config": _RESNET, "num_feature_levels": 2},
    "depth_pro": {"patch_size": 32, "intermediate_hook_ids": [1, 0]},
    "detr": {"backbone_config": _RESNET},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 48},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1},
    "dots3_note_text": {
        "num_hidden_layers": 2,
        "layer_types": ["indexed_attention", "sliding_attention"],
        "mlp_layer_types": ["dense", "sparse"],
        "num_key_value_heads": 4,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "swa_q_lora_rank": 16,
        "swa_kv_lora_rank": 16,
        "swa_head_dim": 12,
        "swa_qk_nope_head_dim": 8,
        "swa_v_head_dim": 8,
    },
    "efficientloftr": {
        "out_features": [8, 8, 16, 32],
        "stage_num_blocks": [1, 1, 1, 1],
        "stage_stride": [2, 1, 2, 2],
        "rope_parameters": _rotary(partial_rotary_factor=2.0),
    },
    "efficientnet": {"width_coefficient": 0.025, "hidden_dim": 32},
    "emu3": {"vocabulary_map": {"<image>": VOCABULARY - 1}},
    "ernie4_5_vl_moe_text": {"rope_parameters": _rotary(mrope_section=[1, 1, 2])},
    "esm": {"vocab_size": VOCABULARY, "pad_token_id": 1, "mask_token_id": 32},
    "exaone4_5_vision": {"window_size": 32},
    "falcon_h1": {"mamba_d_head": "auto"},
    "fast_vlm": {"vision_config": _SIGLIP},
    "fastspeech2_conformer_with_hifigan": {"vocoder_config": {"model_in_dim": 16}},
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": 8}},
    "fun_asr_nano_encoder": {"num_stacked_frames": 1},
    "gemma3n_text": {
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"],
        "activation_sparsity_pattern": [0.95, 0.0],
        "num_kv_shared_layers": 0,
    },
    "glm4v_moe_text": {"rope_parameters": _rotary(partial_rotary_factor=0.5, mrope_section=[2, 0, 0])},
    "glm5_next_text": {
        "num_key_value_heads": 4,
        "index_kpool": 1,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "indexed_attention"],
        "mlp_layer_types": ["dense", "sparse"],
        "indexer_types": ["full", "full"],
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granite4_vision": {"deepstack_layer_map": [[0, 0]], "downsample_rate": "1/2"},
    "granitemoehybrid": {"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]},
    "hunyuan_vl_text": {"rope_parameters": _rotary(mrope_section=[1, 1, 1, 1])},
    "hy_v4": {
        "num_hidden_layers": 2,
        "mlp_layer_types": ["dense", "sparse"],
        "indexer_types": ["full", "shared"],
        "layer_types": ["indexed_attention", "indexed_attention"],
    },
    "informer": _SERIES,
    "instructblip": {"image_token_index": VOCABULARY - 1},
    "instructblipvideo": {"video_token_index": VOCABULARY - 1},
    "kimi_k25_vision": {"pos_emb_height": 4, "pos_emb_width": 4},
    "kimi_linear": {
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "kosmos-2": {"latent_query_num": 8},
    "layoutlmv3": {"coordinate_size": 6, "shape_size": 4},
    "levit": {"patch_size": 16},
    "lfm2_moe": {"num_hidden_layers": 2, "layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "lightglue": {"keypoint_detector_config": {"keypoint_decoder_dim": 65}},
    "lilt": {"hidden_size": 48},
    "longcat_flash": {"qk_head_dim": 12, "head_dim": 4, "num_key_value_heads": 4, "zero_expert_num": 2},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "mamba2": {"head_dim": 16, "n_groups": 1},
    "markuplm": {"tag_pad_id": 31, "subs_pad_id": 31},
    "mask2former": {"feature_size": 32, "mask_feature_size": 32},
    "maskformer": {"fpn_feature_size": 32, "mask_feature_size": 32},
    "mimi": {"num_filters": 4},
    "molmo2": {"adapter_config": {"vision_feature_layer": [0, 1]}},
    "moonshine_streaming": {"num_key_value_heads": 4},
    "muse_spark_audio": {"hidden_sizes": [32, 32, 32, 32]},
    "nemotron_h": {"n_groups": 1},
    "nystromformer": {"num_landmarks": 8, "segment_means_seq_len": 8, "conv_kernel_size": 5},
    "paddleocr_vl_text": {"rope_parameters": _rotary(mrope_section=[2, 1, 1])},
    "perceiver": {"d_latents": 32, "num_self_attends_per_block": 2},
    "perception_lm": {"vision_config": _SIGLIP},
    "pp_ocrv6_small_rec": {"backbone_config": {"stem_channels": [3, 48, 96]}},
    "pp_ocrv6_tiny_rec": {"backbone_config": {"stem_channels": [3, 48, 96]}},
    "qwen2_5_vl_vision": {"window_size": 32},
    "qwen3_asr_encoder": {"n_window": 50, "n_window_infer": 100, "max_source_positions": 50},
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "reformer": {"is_decoder": True, "axial_pos_embds": False},
    "sam2_hiera_det_model": {"hidden_size": 16, "embed_dim_per_stage": [16, 32]},
    "sam2_vision_model": {"backbone_channel_list": [32, 16]},
    "sam_hq_vision_model": {"num_pos_feats": 16},
    "sam_vision_model": {"num_pos_feats": 16},
    "sapiens2": {"num_key_value_heads_per_layer": [4, 2]},
    "seggpt": {"image_size": [64, 32]},
    "step3p7": {"text_config": {"sliding_window": 4}},
    "t5gemma2_encoder": {"text_config": {"dropout_rate": 0.0}},
    "table-transformer": {"backbone_config": _RESNET},
    "time_series_transformer": _SERIES,
    "vibevoice_acoustic_tokenizer": {"num_filters": 4},
    "vibevoice_acoustic_tokenizer_decoder": {"num_filters": 4},
    "vibevoice_acoustic_tokenizer_encoder": {"num_filters": 4},
    "vibevoice_asr": {"acoustic_tokenizer_chunk_size": 3200},
    "xlstm": {"hidden_size": 128, "embedding_dim": 128},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 3,
        "layers_block_type": ["linear_attention", "hybrid", "hybrid"],
        "attention_hidden_size": 64,
        "attention_head_dim": 16,
    },
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
        # As many as the channels that are sampled up.
        (r"^upsample_groups$", sizes.hidden),
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
        (r"_rank$|low_rank", 16),
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


def tiny(
    config: PreTrainedConfig, sizes: Sizes = SMALL, exceptions: Mapping[str, Any] | None = None
) -> PreTrainedConfig:
    """Return a configuration of the same class whose sizes, and those of the configurations in it, are small.

    `exceptions` are values of parameters, beside those of the model type.
    """
    parameters = _parameters(config)
    values = {name: _value(config, one) for name, one in parameters.items() if _is_kept(config, name)}
    kept = _kept_layers(values)
    staged = _stage_lengths(values, sizes)
    special = {**_special_tokens(values), **_missing_sections(config, values, sizes)}
    needed = {"num_experts_per_tok": 2, "num_key_value_heads": sizes.key_heads, "head_dim": sizes.head}
    # A configuration may change what it is made of.
    said = deepcopy({**_EXCEPTIONS.get(config.model_type, {}), **(exceptions or {})})
    inner = {name for name, one in said.items() if isinstance(one, Mapping) and _is_configuration(values.get(name))}
    options = {name: one for name, one in said.items() if name not in inner}
    shrunk: Any
    for name, value in values.items():
        if name in options:
            continue
        # Some classes do not work with their own default of None.
        if value is None and name in needed:
            shrunk = needed[name]
        elif name in inner:
            shrunk = tiny(value, sizes, said[name])
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
    return _with_outputs(config, options)


def _with_outputs(config: PreTrainedConfig, options: Mapping[str, Any]) -> PreTrainedConfig:
    """Return the configuration with the options; a backbone gives the same stages, where it still has them."""
    made = type(config)(**options)
    wanted, stages = getattr(config, "out_features", None), getattr(made, "stage_names", None)
    if wanted and stages and made.out_features != wanted and set(wanted) <= set(stages):
        return type(config)(**{**options, "out_features": wanted})
    return made


def _is_configuration(value: Any) -> bool:
    return isinstance(value, PreTrainedConfig)


def _is_kept(config: PreTrainedConfig, name: str) -> bool:
    """Return whether a configuration keeps a parameter, under its own name or under the one that it stands for."""
    return type(config).attribute_map.get(name, name) in vars(config)


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


def _missing_sections(config: PreTrainedConfig, values: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    # The sections that such a class takes where none are given are those of large heads.
    ignored = getattr(config, "ignore_keys_at_rope_validation", ())
    rotary = values.get("rope_parameters")
    if set(ignored) != {"mrope_section"} or not isinstance(rotary, Mapping) or "mrope_section" in rotary:
        return {}
    return {"rope_parameters": {**rotary, "mrope_section": _sections(rotary, sizes)}}


def _sections(value: Mapping[str, Any], sizes: Sizes) -> list[int]:
    # The sections of rotary positions share the pairs of a head out among themselves.
    pairs = int(sizes.head * (value.get("partial_rotary_factor") or 1.0)) // 2
    return [pairs - 2 * (pairs // 4), pairs // 4, pairs // 4]


def _section(key: object, value: Any, sizes: Sizes) -> Any:
    if key == "mrope_section":
        return _sections({}, sizes)
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
