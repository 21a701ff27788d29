"""A GPT in PyTorch whose matrices start as Glorot and Bengio's rule says; the tests change one line at a time."""

from types import SimpleNamespace

import torch
from torch import nn

framework = "torch"
architectures = {"initial_weights": ("gpt", "bert")}


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.out = nn.Linear(config.d_model, config.d_model)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.attention = SelfAttention(config)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.fc_in = nn.Linear(config.d_model, config.d_ff)
        self.fc_out = nn.Linear(config.d_ff, config.d_model)


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary_size, config.d_model)
        self.place = nn.Embedding(config.max_length, config.d_model)
        self.norm_in = nn.LayerNorm(config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.num_layers)])
        self.norm_out = nn.LayerNorm(config.d_model)
        self.apply(self.reset)

    @staticmethod
    def reset(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


def exported(linear, name):
    return {f"w_{name}": linear.weight.T, f"b_{name}": linear.bias}


def of_norm(norm):
    return SimpleNamespace(gamma=norm.weight, beta=norm.bias)


def of_block(block):
    heads, attention = block.attention, {}
    for name, linear in zip("qkvo", (heads.query, heads.key, heads.value, heads.out), strict=True):
        attention |= exported(linear, name)
    return SimpleNamespace(
        self_attention=SimpleNamespace(**attention),
        norm_1=of_norm(block.norm_1),
        feed_forward=SimpleNamespace(**exported(block.fc_in, "1"), **exported(block.fc_out, "2")),
        norm_2=of_norm(block.norm_2),
    )


@torch.no_grad()
def initial_weights(config, *, seed):
    torch.manual_seed(seed)
    model = Transformer(config)
    return SimpleNamespace(
        embedding=model.embed.weight,
        positions=model.place.weight,
        embedding_norm=of_norm(model.norm_in) if config.embedding_norm else None,
        layers=[of_block(block) for block in model.blocks],
        final_norm=of_norm(model.norm_out) if config.final_norm else None,
    )
