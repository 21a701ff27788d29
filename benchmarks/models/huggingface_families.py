"""Families of transformers that nobody looked at while the recognition was written, as tiny configurations.

Each is what `TinyModel` of `huggingface.py` takes, by name. GPT-Neo is not among them: it leaves out the scale of the
logits in every layer, which is a known mistake, and was trained so.
"""

from __future__ import annotations

from typing import Any

_Family = dict[str, Any]

_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_EAGER = ("eager",)


def _llama_like(name: str, vocabulary: int, prefix: str = "", **options: Any) -> _Family:
    """Return a decoder whose configuration has the names that Llama's has."""
    sizes = {
        "hidden_size": 48,
        "intermediate_size": 68,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 40,
    }
    every = {"vocab_size": vocabulary, **sizes, **_SPECIAL, **options}
    return {"builder": f"{name}ForCausalLM", "config": f"{prefix or name}Config", "options": every}


def _bert_like(name: str, head: str, vocabulary: int, **options: Any) -> _Family:
    """Return an encoder whose configuration has the names that BERT's has."""
    sizes = {
        "hidden_size": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 74,
        "max_position_embeddings": 36,
        "type_vocab_size": 2,
    }
    every = {"vocab_size": vocabulary, **sizes, "pad_token_id": 0, **options}
    return {"builder": f"{name}{head}", "config": f"{name}Config", "options": every}


def _bart_like(name: str, vocabulary: int, **options: Any) -> _Family:
    """Return an encoder and decoder whose configuration has the names that BART's has."""
    sizes = {
        "d_model": 36,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 70,
        "decoder_ffn_dim": 58,
        "max_position_embeddings": 40,
    }
    every = {"vocab_size": vocabulary, **sizes, "pad_token_id": 0, "decoder_start_token_id": 0, **options}
    return {
        "builder": f"{name}ForConditionalGeneration",
        "config": f"{name}Config",
        "options": every,
        "encoder_decoder": True,
    }


def _vit_like(builder: str, config: str, **options: Any) -> _Family:
    """Return an encoder of images of 24 × 24 points."""
    sizes = {
        "hidden_size": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 76,
        "image_size": 24,
        "patch_size": 8,
        "num_channels": 3,
    }
    return {"builder": builder, "config": config, "options": {**sizes, **options}, "takes": "image"}


FAMILIES: dict[str, _Family] = {
    "falcon": {
        "builder": "FalconForCausalLM",
        "config": "FalconConfig",
        "options": {"vocab_size": 65, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, **_SPECIAL},
    },
    "falcon_new": {
        "builder": "FalconForCausalLM",
        "config": "FalconConfig",
        "options": {
            "vocab_size": 65,
            "hidden_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_kv_heads": 2,
            "new_decoder_architecture": True,
            **_SPECIAL,
        },
    },
    "falcon_alibi": {
        "builder": "FalconForCausalLM",
        "config": "FalconConfig",
        "options": {
            "vocab_size": 65,
            "hidden_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "alibi": True,
            "multi_query": False,
            "parallel_attn": False,
            "bias": True,
            **_SPECIAL,
        },
    },
    "mpt": {
        "builder": "MptForCausalLM",
        "config": "MptConfig",
        "options": {"vocab_size": 75, "d_model": 40, "n_heads": 4, "n_layers": 3, "max_seq_len": 32},
        "attentions": _EAGER,
    },
    "gptj": {
        "builder": "GPTJForCausalLM",
        "config": "GPTJConfig",
        "options": {
            "vocab_size": 79,
            "n_positions": 32,
            "n_embd": 48,
            "n_layer": 3,
            "n_head": 3,
            "rotary_dim": 8,
            **_SPECIAL,
        },
        "attentions": _EAGER,
    },
    "codegen": {
        "builder": "CodeGenForCausalLM",
        "config": "CodeGenConfig",
        "options": {
            "vocab_size": 81,
            "n_positions": 32,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "rotary_dim": 8,
            **_SPECIAL,
        },
        "attentions": _EAGER,
    },
    "gpt_bigcode": {
        "builder": "GPTBigCodeForCausalLM",
        "config": "GPTBigCodeConfig",
        "options": {"vocab_size": 59, "n_positions": 32, "n_embd": 40, "n_layer": 3, "n_head": 4, **_SPECIAL},
    },
    "openai_gpt": {
        "builder": "OpenAIGPTLMHeadModel",
        "config": "OpenAIGPTConfig",
        "options": {"vocab_size": 57, "n_positions": 32, "n_embd": 40, "n_layer": 3, "n_head": 4},
        "attentions": _EAGER,
    },
    "ctrl": {
        "builder": "CTRLLMHeadModel",
        "config": "CTRLConfig",
        "options": {"vocab_size": 57, "n_positions": 32, "n_embd": 40, "dff": 70, "n_layer": 3, "n_head": 4},
        "attentions": _EAGER,
    },
    "biogpt": _llama_like("BioGpt", 61, is_decoder=True),
    "xglm": {
        "builder": "XGLMForCausalLM",
        "config": "XGLMConfig",
        "options": {
            "vocab_size": 77,
            "d_model": 40,
            "ffn_dim": 66,
            "num_layers": 3,
            "attention_heads": 4,
            "max_position_embeddings": 32,
            "pad_token_id": 1,
        },
        "attentions": _EAGER,
    },
    "stablelm": _llama_like("StableLm", 65, partial_rotary_factor=0.5),
    "stablelm_parallel": _llama_like(
        "StableLm", 65, partial_rotary_factor=0.5, use_parallel_residual=True, qk_layernorm=True
    ),
    "cohere": _llama_like("Cohere", 67),
    "cohere_normed": _llama_like("Cohere", 67, use_qk_norm=True),
    "cohere2": _llama_like("Cohere2", 67, sliding_window=5, sliding_window_pattern=2),
    "granite": _llama_like(
        "Granite",
        69,
        embedding_multiplier=12.0,
        logits_scaling=8.0,
        residual_multiplier=0.22,
        attention_multiplier=0.0625,
    ),
    "olmo": _llama_like("Olmo", 71),
    "olmo_clipped": _llama_like("Olmo", 71, clip_qkv=0.6),
    "olmo2": _llama_like("Olmo2", 73),
    "olmo3": _llama_like("Olmo3", 73, sliding_window=4),
    "phi3": _llama_like("Phi3", 75, sliding_window=6),
    "qwen2": _llama_like("Qwen2", 77),
    "gemma": _llama_like("Gemma", 79, head_dim=14),
    "gemma3": _llama_like("Gemma3", 81, "Gemma3Text", head_dim=14, sliding_window=4, num_hidden_layers=6),
    "smollm3": _llama_like("SmolLM3", 83),
    "nemotron": _llama_like("Nemotron", 85),
    "persimmon": _llama_like("Persimmon", 87, num_key_value_heads=4),
    "starcoder2": _llama_like("Starcoder2", 89, sliding_window=None),
    "glm": _llama_like("Glm", 91, head_dim=12),
    "glm4": _llama_like("Glm4", 91, head_dim=12),
    "helium": _llama_like("Helium", 93, head_dim=12),
    "ernie": _llama_like("Ernie4_5", 95),
    "arcee": _llama_like("Arcee", 57),
    "exaone4": _llama_like("Exaone4", 59, sliding_window=4, sliding_window_pattern=2),
    "seed_oss": _llama_like("SeedOss", 61, head_dim=12),
    "apertus": _llama_like("Apertus", 63),
    "llama_yarn": _llama_like(
        "Llama",
        65,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "llama3_scaled": _llama_like(
        "Llama",
        65,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 24,
        },
    ),
    "llama_linear": _llama_like(
        "Llama", 65, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
    ),
    "mixtral": _llama_like("Mixtral", 67, num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": _llama_like(
        "Qwen2Moe",
        69,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=36,
        shared_expert_intermediate_size=44,
    ),
    "olmoe": _llama_like("Olmoe", 71, num_experts=4, num_experts_per_tok=2),
    "gpt_oss": _llama_like("GptOss", 73, num_local_experts=4, num_experts_per_tok=2, head_dim=16, sliding_window=4)
    | {"attentions": _EAGER},
    "deepseek_v3": _llama_like(
        "DeepseekV3",
        75,
        num_key_value_heads=4,
        q_lora_rank=20,
        kv_lora_rank=16,
        qk_rope_head_dim=8,
        qk_nope_head_dim=12,
        v_head_dim=10,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
        moe_intermediate_size=32,
    ),
    "mamba": {
        "builder": "MambaForCausalLM",
        "config": "MambaConfig",
        "options": {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 3, "state_size": 6, **_SPECIAL},
        "attentions": _EAGER,
    },
    "roberta": _bert_like("Roberta", "ForMaskedLM", 63),
    "xlm_roberta": _bert_like("XLMRoberta", "ForSequenceClassification", 63),
    "albert": _bert_like("Albert", "ForMaskedLM", 65, embedding_size=24),
    "electra": _bert_like("Electra", "ForPreTraining", 67, embedding_size=28),
    "mpnet": _bert_like("MPNet", "ForMaskedLM", 69) | {"attentions": _EAGER},
    "roformer": _bert_like("RoFormer", "ForMaskedLM", 71, embedding_size=40) | {"attentions": _EAGER},
    "esm": _bert_like("Esm", "ForMaskedLM", 33, position_embedding_type="rotary", mask_token_id=32),
    "bert_classifier": _bert_like("Bert", "ForSequenceClassification", 73),
    "distilbert": {
        "builder": "DistilBertForMaskedLM",
        "config": "DistilBertConfig",
        "options": {
            "vocab_size": 75,
            "dim": 40,
            "hidden_dim": 74,
            "n_layers": 3,
            "n_heads": 4,
            "max_position_embeddings": 32,
        },
    },
    "modernbert": _llama_like("ModernBert", 77, local_attention=6, global_attn_every_n_layers=3, num_hidden_layers=6)
    | {"builder": "ModernBertForMaskedLM"},
    "deberta_v2": _bert_like(
        "DebertaV2",
        "ForMaskedLM",
        79,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=8,
        max_relative_positions=16,
    )
    | {"attentions": _EAGER},
    "xlnet": {
        "builder": "XLNetLMHeadModel",
        "config": "XLNetConfig",
        "options": {"vocab_size": 81, "d_model": 40, "n_layer": 3, "n_head": 4, "d_inner": 66},
        "attentions": _EAGER,
    },
    "longformer": _bert_like("Longformer", "ForMaskedLM", 83, attention_window=4) | {"attentions": _EAGER},
    "marian": _bart_like("Marian", 85) | {"builder": "MarianMTModel"},
    "pegasus": _bart_like("Pegasus", 87),
    "mbart": _bart_like("MBart", 89),
    "m2m100": _bart_like("M2M100", 91),
    "blenderbot": _bart_like("Blenderbot", 93),
    "mt5": {
        "builder": "MT5ForConditionalGeneration",
        "config": "MT5Config",
        "options": {
            "vocab_size": 95,
            "d_model": 36,
            "d_kv": 10,
            "d_ff": 62,
            "num_layers": 3,
            "num_heads": 4,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 20,
            "decoder_start_token_id": 0,
        },
        "encoder_decoder": True,
    },
    "whisper": {
        "builder": "WhisperForConditionalGeneration",
        "config": "WhisperConfig",
        "options": {
            "vocab_size": 97,
            "d_model": 40,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 66,
            "decoder_ffn_dim": 74,
            "num_mel_bins": 12,
            "max_source_positions": 13,
            "max_target_positions": 24,
            "decoder_start_token_id": 1,
            **_SPECIAL,
            "begin_suppress_tokens": None,
        },
        "takes": "spectrum",
    },
    "vit": _vit_like("ViTForImageClassification", "ViTConfig"),
    "deit": _vit_like("DeiTForImageClassification", "DeiTConfig"),
    "dinov2": _vit_like("Dinov2ForImageClassification", "Dinov2Config"),
    "beit": _vit_like("BeitForImageClassification", "BeitConfig", use_relative_position_bias=True)
    | {"attentions": _EAGER},
    "siglip": _vit_like("SiglipVisionModel", "SiglipVisionConfig"),
    "clip_vision": _vit_like("CLIPVisionModelWithProjection", "CLIPVisionConfig", projection_dim=24),
    "clip_text": {
        "builder": "CLIPTextModelWithProjection",
        "config": "CLIPTextConfig",
        "options": {
            "vocab_size": 99,
            "hidden_size": 40,
            "intermediate_size": 66,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "max_position_embeddings": 24,
            "projection_dim": 20,
            **_SPECIAL,
        },
    },
}
