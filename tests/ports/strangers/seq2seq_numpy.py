"""The translation model for inference without torch: NumPy, sequence first like the original."""

import numpy as np
import seq2seq_torch

H = 3


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def ln(x, w, name):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return w[name + ".weight"] * (x - m) / np.sqrt(v + 1e-5) + w[name + ".bias"]


def mha(q_in, kv_in, w, name, mask=None):
    t, n, d = q_in.shape
    s = kv_in.shape[0]
    wq, wk, wv = np.split(w[name + ".in_proj_weight"], 3)
    bq, bk, bv = np.split(w[name + ".in_proj_bias"], 3)
    q = (q_in @ wq.T + bq).reshape(t, n * H, d // H).transpose(1, 0, 2)
    k = (kv_in @ wk.T + bk).reshape(s, n * H, d // H).transpose(1, 2, 0)
    v = (kv_in @ wv.T + bv).reshape(s, n * H, d // H).transpose(1, 0, 2)
    logits = q @ k / np.sqrt(d // H)
    if mask is not None:
        logits = logits + mask
    out = (softmax(logits) @ v).transpose(1, 0, 2).reshape(t, n, d)
    return out @ w[name + ".out_proj.weight"].T + w[name + ".out_proj.bias"]


def ffn(x, w, name):
    h = np.maximum(x @ w[name + ".linear1.weight"].T + w[name + ".linear1.bias"], 0)
    return h @ w[name + ".linear2.weight"].T + w[name + ".linear2.bias"]


def positions(length, d):
    pos = np.arange(length)[:, None]
    den = np.exp(-np.arange(0, d, 2) * np.log(10000.0) / d)
    pe = np.zeros((length, d))
    pe[:, 0::2], pe[:, 1::2] = np.sin(pos * den), np.cos(pos * den)
    return pe[:, None, :]


def translate(w, src, trg):
    d = w["generator.weight"].shape[1]
    x = w["src_tok_emb.embedding.weight"][src] * np.sqrt(d) + positions(len(src), d)
    for i in range(2):
        n = f"transformer.encoder.layers.{i}"
        x = ln(x + mha(x, x, w, n + ".self_attn"), w, n + ".norm1")
        x = ln(x + ffn(x, w, n), w, n + ".norm2")
    memory = ln(x, w, "transformer.encoder.norm")
    y = w["tgt_tok_emb.embedding.weight"][trg] * np.sqrt(d) + positions(len(trg), d)
    mask = np.triu(np.full((len(trg), len(trg)), -np.inf), 1)
    for i in range(2):
        n = f"transformer.decoder.layers.{i}"
        y = ln(y + mha(y, y, w, n + ".self_attn", mask), w, n + ".norm1")
        y = ln(y + mha(y, memory, w, n + ".multihead_attn"), w, n + ".norm2")
        y = ln(y + ffn(y, w, n), w, n + ".norm3")
    y = ln(y, w, "transformer.decoder.norm")
    return y @ w["generator.weight"].T + w["generator.bias"]


def build():
    state = seq2seq_torch.build().state_dict()
    return translate, {k: v.numpy() for k, v in state.items() if "pos_embedding" not in k}
