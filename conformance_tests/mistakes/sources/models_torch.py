"""Whole Transformers in plain PyTorch: every architecture, and decoding with a cache of keys and values."""

import torch
from torch.nn import functional

framework = "torch"
dtypes = ("float32", "float64")
conventions = {"gelu_form": "erf", "rotary_pairing": "half", "sinusoidal_layout": "interleaved"}


def encoder(tokens, weights, config, *, padding_mask=None):
    x = embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, config)
    visible = keys_only(padding_mask)
    for layer in weights.layers:
        x, _ = layer_forward(x, layer, config, visible)
    return norm(x, weights.final_norm, config)


def encoder_decoder(source, target, weights, config, *, source_padding_mask=None, target_padding_mask=None):
    source_visible = keys_only(source_padding_mask)
    memory = embed(source, weights.embedding, weights.encoder_positions, weights.encoder_embedding_norm, config)
    for layer in weights.encoder_layers:
        memory, _ = layer_forward(memory, layer, config, source_visible)
    memory = norm(memory, weights.encoder_final_norm, config)

    x = embed(target, weights.embedding, weights.decoder_positions, weights.decoder_embedding_norm, config)
    visible = causal(target.shape[1], 0)
    if target_padding_mask is not None:
        visible = visible & keys_only(target_padding_mask)
    for layer in weights.decoder_layers:
        x = decoder_layer_forward(x, memory, layer, config, visible, source_visible)
    return unembed(norm(x, weights.decoder_final_norm, config), weights)


def language_model(tokens, weights, config, *, padding_mask=None):
    visible = causal(tokens.shape[1], 0)
    if padding_mask is not None:
        visible = visible & keys_only(padding_mask)
    logits, _ = run(tokens, None, weights, config, visible)
    return logits


def decode_step(tokens, cache, weights, config):
    start = 0 if cache is None else cache[0][0].shape[2]
    return run(tokens, cache, weights, config, causal(tokens.shape[1], start))


def run(tokens, cache, weights, config, visible):
    start = 0 if cache is None else cache[0][0].shape[2]
    x = embed(tokens, weights.embedding, weights.positions, weights.embedding_norm, config, start)
    new_cache = []
    for number, layer in enumerate(weights.layers):
        x, keys_and_values = layer_forward(x, layer, config, visible, None if cache is None else cache[number])
        new_cache.append(keys_and_values)
    return unembed(norm(x, weights.final_norm, config), weights), tuple(new_cache)


def embed(tokens, table, positions, embedding_norm, config, start=0):
    x = table[tokens]
    if config.scale_embedding:
        x = x * config.d_model**0.5
    end = start + tokens.shape[1]
    if config.positions == "sinusoidal":
        x = x + sinusoids(end, config.d_model)[start:].to(x.dtype)
    if config.positions == "learned":
        x = x + positions[start:end]
    return norm(x, embedding_norm, config)


def sinusoids(length, d_model):
    k = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.arange(length, dtype=torch.float64)[:, None] / 10000.0 ** (k / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def unembed(x, weights):
    return x @ (weights.embedding.T if weights.unembedding is None else weights.unembedding)


def layer_forward(x, layer, config, visible, past=None):
    if config.norm_first:
        attended, known = self_attention(norm(x, layer.norm_1, config), layer.self_attention, config, visible, past)
        x = x + attended
        return x + network(norm(x, layer.norm_2, config), layer.feed_forward, config), known
    attended, known = self_attention(x, layer.self_attention, config, visible, past)
    x = norm(x + attended, layer.norm_1, config)
    return norm(x + network(x, layer.feed_forward, config), layer.norm_2, config), known


def decoder_layer_forward(x, memory, layer, config, visible, source_visible):
    attended, _ = self_attention(x, layer.self_attention, config, visible, None)
    x = norm(x + attended, layer.norm_1, config)
    looked_up = attention(x, memory, layer.cross_attention, config, source_visible)
    x = norm(x + looked_up, layer.norm_2, config)
    return norm(x + network(x, layer.feed_forward, config), layer.norm_3, config)


def self_attention(x, weights, config, visible, past):
    query = heads(x, weights.w_q, weights.b_q, config.num_heads)
    key = heads(x, weights.w_k, weights.b_k, config.num_kv_heads)
    value = heads(x, weights.w_v, weights.b_v, config.num_kv_heads)
    start = 0 if past is None else past[0].shape[2]
    if config.positions == "rotary":
        query, key = (rotate(part, start, config.rotary_base) for part in (query, key))
    if past is not None:
        key = torch.cat([past[0], key], dim=2)
        value = torch.cat([past[1], value], dim=2)
    return mix(query, key, value, weights, visible), (key, value)


def attention(x, memory, weights, config, visible):
    query = heads(x, weights.w_q, weights.b_q, config.num_heads)
    key = heads(memory, weights.w_k, weights.b_k, config.num_heads)
    value = heads(memory, weights.w_v, weights.b_v, config.num_heads)
    return mix(query, key, value, weights, visible)


def heads(x, weight, bias, count):
    projected = x @ weight if bias is None else x @ weight + bias
    return projected.unflatten(-1, (count, -1)).transpose(1, 2)


def rotate(x, start, base):
    half = x.shape[-1] // 2
    positions = torch.arange(start, start + x.shape[2], dtype=torch.float64)
    angles = positions[:, None] * base ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def mix(query, key, value, weights, visible):
    group = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(group, dim=1) for part in (key, value))
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    output = mixed.transpose(1, 2).flatten(2) @ weights.w_o
    return output if weights.b_o is None else output + weights.b_o


def network(x, weights, config):
    activation = {"relu": functional.relu, "gelu": functional.gelu, "silu": functional.silu}[config.activation]
    if config.gated:
        return (activation(x @ weights.w_gate) * (x @ weights.w_up)) @ weights.w_down
    return activation(x @ weights.w_1 + weights.b_1) @ weights.w_2 + weights.b_2


def norm(x, weights, config):
    if weights is None:
        return x
    if config.norm == "rms_norm":
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config.eps) * weights.gamma
    return functional.layer_norm(x, x.shape[-1:], weights.gamma, weights.beta, config.eps)


def causal(length, start):
    return torch.ones(length, start + length, dtype=torch.bool).tril(start)


def keys_only(padding_mask):
    return None if padding_mask is None else padding_mask[:, None, None, :]
