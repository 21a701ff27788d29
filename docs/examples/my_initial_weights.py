"""How the weights of a small GPT-2 in PyTorch start, with a mistake in it."""

import math

import torch
from torch import nn

framework = "torch"
architectures = {"initial_weights": ("gpt",)}


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.d_model)
        self.c_attn = nn.Linear(config.d_model, 3 * config.d_model)
        self.attn_c_proj = nn.Linear(config.d_model, config.d_model)
        self.ln_2 = nn.LayerNorm(config.d_model)
        self.c_fc = nn.Linear(config.d_model, config.d_ff)
        self.mlp_c_proj = nn.Linear(config.d_ff, config.d_model)


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary_size, config.d_model)
        self.wpe = nn.Embedding(config.max_length, config.d_model)
        self.h = nn.ModuleList([Block(config) for _ in range(config.num_layers)])
        self.ln_f = nn.LayerNorm(config.d_model)
        self.apply(self._init_weights)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, mean=0.0, std=0.02 / math.sqrt(config.num_layers))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)


@torch.no_grad()
def initial_weights(config, *, seed):
    torch.manual_seed(seed)
    model = GPT(config)
    return {
        "embedding": model.wte.weight,
        "positions": model.wpe.weight,
        "layers": [layer(block) for block in model.h],
        "final_norm": norm(model.ln_f),
    }


def layer(block):
    """Return the weights of a block by the names of the interface, matrices as (inputs, outputs)."""
    queries, keys, values = block.c_attn.weight.T.chunk(3, dim=1)
    of_queries, of_keys, of_values = block.c_attn.bias.chunk(3)
    return {
        "norm_1": norm(block.ln_1),
        "self_attention": {
            "w_q": queries,
            "w_k": keys,
            "w_v": values,
            "w_o": block.attn_c_proj.weight.T,
            "b_q": of_queries,
            "b_k": of_keys,
            "b_v": of_values,
            "b_o": block.attn_c_proj.bias,
        },
        "norm_2": norm(block.ln_2),
        "feed_forward": {
            "w_1": block.c_fc.weight.T,
            "b_1": block.c_fc.bias,
            "w_2": block.mlp_c_proj.weight.T,
            "b_2": block.mlp_c_proj.bias,
        },
    }


def norm(module):
    return {"gamma": module.weight, "beta": module.bias}
