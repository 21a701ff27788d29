"""BERT from torch's own encoder layers: a fused in_proj, a padding mask that is True where nothing is."""

import bert_hf
import torch
import torch.nn.functional as F
from torch import nn


class Bert(nn.Module):
    def __init__(self, vocab=71, width=36, heads=3, hidden=64, positions=24, layers=2):
        super().__init__()
        self.word = nn.Embedding(vocab, width)
        self.position = nn.Embedding(positions, width)
        self.segment = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(
            [
                nn.TransformerEncoderLayer(
                    width, heads, hidden, 0.1, activation=F.gelu, layer_norm_eps=1e-12, batch_first=True
                )
                for _ in range(layers)
            ]
        )
        self.dense = nn.Linear(width, width)
        self.head_norm = nn.LayerNorm(width, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, tokens, attended):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.word(tokens) + self.position(places) + self.segment.weight[0])
        padding = attended == 0
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        x = self.head_norm(F.gelu(self.dense(x)))
        return x @ self.word.weight.T + self.bias


def convert(hf):
    new = {
        "word.weight": hf["bert.embeddings.word_embeddings.weight"],
        "position.weight": hf["bert.embeddings.position_embeddings.weight"],
        "segment.weight": hf["bert.embeddings.token_type_embeddings.weight"],
        "dense.weight": hf["cls.predictions.transform.dense.weight"],
        "dense.bias": hf["cls.predictions.transform.dense.bias"],
        "bias": hf["cls.predictions.bias"],
    }
    for end in ("weight", "bias"):
        new[f"norm.{end}"] = hf[f"bert.embeddings.LayerNorm.{end}"]
        new[f"head_norm.{end}"] = hf[f"cls.predictions.transform.LayerNorm.{end}"]
        for i in range(2):
            old = f"bert.encoder.layer.{i}"
            parts = [hf[f"{old}.attention.self.{n}.{end}"] for n in ("query", "key", "value")]
            new[f"layers.{i}.self_attn.in_proj_{end}"] = torch.cat(parts)
            new[f"layers.{i}.self_attn.out_proj.{end}"] = hf[f"{old}.attention.output.dense.{end}"]
            new[f"layers.{i}.norm1.{end}"] = hf[f"{old}.attention.output.LayerNorm.{end}"]
            new[f"layers.{i}.linear1.{end}"] = hf[f"{old}.intermediate.dense.{end}"]
            new[f"layers.{i}.linear2.{end}"] = hf[f"{old}.output.dense.{end}"]
            new[f"layers.{i}.norm2.{end}"] = hf[f"{old}.output.LayerNorm.{end}"]
    return new


def build():
    model = Bert().eval()
    model.load_state_dict(convert(bert_hf.build().state_dict()))
    return model


inputs = bert_hf.inputs
