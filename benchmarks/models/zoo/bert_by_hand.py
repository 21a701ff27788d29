"""BERT with a masked language model head, written from the paper and the TensorFlow code."""

import math

import torch
from torch import nn


class Config:
    vocab_size = 71
    hidden_size = 32
    num_layers = 3
    num_heads = 4
    intermediate_size = 76
    max_positions = 24
    type_vocab_size = 2
    layer_norm_eps = 1e-12
    dropout = 0.1


class Embeddings(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.word = nn.Embedding(cfg.vocab_size, cfg.hidden_size, padding_idx=0)
        self.position = nn.Embedding(cfg.max_positions, cfg.hidden_size)
        self.token_type = nn.Embedding(cfg.type_vocab_size, cfg.hidden_size)
        self.norm = nn.LayerNorm(cfg.hidden_size, eps=cfg.layer_norm_eps)
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, input_ids, token_type_ids):
        positions = torch.arange(input_ids.size(1), device=input_ids.device).unsqueeze(0)
        embeddings = self.word(input_ids) + self.position(positions) + self.token_type(token_type_ids)
        return self.dropout(self.norm(embeddings))


class SelfAttention(nn.Module):
    def __init__(self, cfg, layer):
        super().__init__()
        self.layer = layer
        self.num_heads = cfg.num_heads
        self.head_size = cfg.hidden_size // cfg.num_heads
        self.query = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        self.key = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        self.value = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        self.dropout = nn.Dropout(cfg.dropout)

    def split_heads(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, hidden, attention_bias):
        q = self.split_heads(self.query(hidden))
        k = self.split_heads(self.key(hidden))
        v = self.split_heads(self.value(hidden))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_size)
        scores = scores + attention_bias
        probs = self.dropout(scores.softmax(dim=-1))
        context = torch.matmul(probs, v)
        return context.permute(0, 2, 1, 3).flatten(2)


class Layer(nn.Module):
    """Post-norm: LayerNorm(x + Sublayer(x))."""

    def __init__(self, cfg, layer):
        super().__init__()
        self.layer = layer
        self.attention = SelfAttention(cfg, layer)
        self.attention_output = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        self.attention_norm = nn.LayerNorm(cfg.hidden_size, eps=cfg.layer_norm_eps)
        self.intermediate = nn.Linear(cfg.hidden_size, cfg.intermediate_size)
        self.act = nn.GELU()
        self.output = nn.Linear(cfg.intermediate_size, cfg.hidden_size)
        self.output_norm = nn.LayerNorm(cfg.hidden_size, eps=cfg.layer_norm_eps)
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, hidden, attention_bias):
        attended = self.dropout(self.attention_output(self.attention(hidden, attention_bias)))
        hidden = self.attention_norm(hidden + attended)
        transformed = self.dropout(self.output(self.act(self.intermediate(hidden))))
        hidden = self.output_norm(hidden + transformed)
        return hidden


class BertForMaskedLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embeddings = Embeddings(cfg)
        self.encoder = nn.ModuleList([Layer(cfg, n) for n in range(cfg.num_layers)])
        # prediction head
        self.transform = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        self.transform_norm = nn.LayerNorm(cfg.hidden_size, eps=cfg.layer_norm_eps)
        self.decoder = nn.Linear(cfg.hidden_size, cfg.vocab_size)
        self.decoder.weight = self.embeddings.word.weight
        self.apply(self.init)

    def init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(0, 0.02)

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        hidden = self.embeddings(input_ids, token_type_ids)
        # 0 where a key may be attended, a very negative number where it is padding
        attention_bias = (1.0 - attention_mask[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        for layer in self.encoder:
            hidden = layer(hidden, attention_bias)
        hidden = self.transform_norm(nn.functional.gelu(self.transform(hidden)))
        return self.decoder(hidden)


def build():
    torch.manual_seed(42)
    return BertForMaskedLM(Config())
