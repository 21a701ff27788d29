"""The model to match: a small Llama of Hugging Face transformers, with grouped queries and drawn weights."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

CONFIG = LlamaConfig(
    vocab_size=120,
    hidden_size=48,
    intermediate_size=128,
    num_hidden_layers=3,
    num_attention_heads=6,
    num_key_value_heads=2,
    rms_norm_eps=1e-6,
    initializer_range=0.1,
)


def build():
    torch.manual_seed(0)
    model = LlamaForCausalLM(CONFIG)
    # The gains of a new model are all one, which would hide mistakes with them.
    for name, parameter in model.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(parameter, mean=1.0, std=0.2)
    return model
