"""Adapters as a student of CS336 has them, written for these tests: right, but for a softmax that overflows.

Some functions are not begun, as at the beginning of the course all are.
"""

import math

import torch


def run_softmax(in_features, dim):
    exponentials = torch.exp(in_features)
    return exponentials / exponentials.sum(dim, keepdim=True)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    logits = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return torch.softmax(logits, -1).nan_to_num() @ V


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    def heads(weight):
        return (in_features @ weight.T).unflatten(-1, (num_heads, -1)).transpose(-3, -2)

    length = in_features.shape[-2]
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mixed = run_scaled_dot_product_attention(heads(q_proj_weight), heads(k_proj_weight), heads(v_proj_weight), mask)
    return mixed.transpose(-3, -2).flatten(-2) @ o_proj_weight.T


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    rates = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    angles = token_positions[..., None] * rates
    cos, sin = angles.cos().to(in_query_or_key.dtype), angles.sin().to(in_query_or_key.dtype)
    even, odd = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def run_rmsnorm(d_model, eps, weights, in_features):
    return in_features * torch.rsqrt(in_features.square().mean(-1, keepdim=True) + eps) * weights


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return (run_silu(in_features @ w1_weight.T) * (in_features @ w3_weight.T)) @ w2_weight.T


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_cross_entropy(inputs, targets):
    return torch.nn.functional.cross_entropy(inputs, targets)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    x = weights["token_embeddings.weight"][in_indices]
    for number in range(num_layers):
        part = {name.removeprefix(f"layers.{number}."): w for name, w in weights.items()}
        x = x + _attend(run_rmsnorm(d_model, 1e-5, part["ln1.weight"], x), part, num_heads, rope_theta)
        hidden = run_rmsnorm(d_model, 1e-5, part["ln2.weight"], x)
        x = x + run_swiglu(d_model, d_ff, part["ffn.w1.weight"], part["ffn.w2.weight"], part["ffn.w3.weight"], hidden)
    return run_rmsnorm(d_model, 1e-5, weights["ln_final.weight"], x) @ weights["lm_head.weight"].T


def _attend(x, part, num_heads, theta):
    length = x.shape[1]
    split = [(x @ part[f"attn.{n}_proj.weight"].T).unflatten(-1, (num_heads, -1)).transpose(1, 2) for n in "qkv"]
    turned = [run_rope(one.shape[-1], theta, length, one, torch.arange(length)) for one in split[:2]]
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mixed = run_scaled_dot_product_attention(*turned, split[2], mask)
    return mixed.transpose(1, 2).flatten(2) @ part["attn.output_proj.weight"].T


def run_linear(d_in, d_out, weights, in_features):
    raise NotImplementedError


def run_get_batch(dataset, batch_size, context_length, device):
    raise NotImplementedError
