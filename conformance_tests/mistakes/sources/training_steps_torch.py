"""A correct training loop in PyTorch, of a GPT-2 or a LLaMA; the tests change one line at a time."""

import torch
from torch.nn import functional

framework = "torch"
dtypes = ("float32", "float64")
conventions = {"gelu_form": "erf", "rotary_pairing": "half"}


def training_steps(
    tokens,
    weights,
    config,
    *,
    learning_rates,
    beta1,
    beta2,
    eps,
    weight_decay,
    ignore_index=-100,
    micro_batches=1,
):
    named = parameters_of(weights)
    optimizer = torch.optim.AdamW(
        named.values(), lr=learning_rates[0], betas=(beta1, beta2), eps=eps, weight_decay=weight_decay
    )
    losses = []
    for number, batch in enumerate(tokens):
        for group in optimizer.param_groups:
            group["lr"] = learning_rates[number]
        optimizer.zero_grad()
        targets = (batch[:, 1:] != ignore_index).sum().item()
        total = 0.0
        for part in batch.chunk(micro_batches):
            share = (part[:, 1:] != ignore_index).sum().item() / targets
            loss = share * loss_of(part, named, config, ignore_index)
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        losses.append(total)
    return torch.stack(losses), rebuilt(weights, named)


def loss_of(tokens, named, config, ignore_index):
    logits = logits_of(tokens, named, config)
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=ignore_index)


def parameters_of(weights):
    named = {}

    def collect(value, path):
        if isinstance(value, torch.Tensor):
            named[path] = torch.nn.Parameter(value.detach().clone())
        elif isinstance(value, list):
            for number, member in enumerate(value):
                collect(member, f"{path}.{number}")
        elif value is not None:
            for name, member in vars(value).items():
                collect(member, f"{path}.{name}" if path else name)

    collect(weights, "")
    return named


def rebuilt(weights, named):
    def build(value, path):
        if isinstance(value, torch.Tensor):
            return named[path].detach()
        if isinstance(value, list):
            return [build(member, f"{path}.{number}") for number, member in enumerate(value)]
        if value is None:
            return None
        return {name: build(member, f"{path}.{name}" if path else name) for name, member in vars(value).items()}

    return build(weights, "")


def logits_of(tokens, named, config):
    x = named["embedding"][tokens]
    if config.positions == "learned":
        x = x + named["positions"][: tokens.shape[1]]
    for number in range(config.num_layers):
        layer = f"layers.{number}"
        x = x + attention(norm(x, named, f"{layer}.norm_1", config), named, f"{layer}.self_attention", config)
        x = x + network(norm(x, named, f"{layer}.norm_2", config), named, f"{layer}.feed_forward", config)
    x = norm(x, named, "final_norm", config)
    return x @ (named["embedding"].T if config.tied_embedding else named["unembedding"])


def norm(x, named, path, config):
    if config.norm == "rms_norm":
        return functional.rms_norm(x, x.shape[-1:], named[f"{path}.gamma"], config.eps)
    return functional.layer_norm(x, x.shape[-1:], named[f"{path}.gamma"], named[f"{path}.beta"], config.eps)


def linear(x, named, path, name):
    projected = x @ named[f"{path}.w_{name}"]
    bias = named.get(f"{path}.b_{name}")
    return projected if bias is None else projected + bias


def attention(x, named, path, config):
    query, key, value = (
        linear(x, named, path, name).unflatten(-1, (count, -1)).transpose(1, 2)
        for name, count in (("q", config.num_heads), ("k", config.num_kv_heads), ("v", config.num_kv_heads))
    )
    if config.positions == "rotary":
        query, key = rotated(query, config.rotary_base), rotated(key, config.rotary_base)
    mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    return linear(mixed.transpose(1, 2).flatten(2), named, path, "o")


def rotated(x, base):
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def network(x, named, path, config):
    if config.gated:
        return linear(
            functional.silu(linear(x, named, path, "gate")) * linear(x, named, path, "up"), named, path, "down"
        )
    return linear(functional.gelu(linear(x, named, path, "1")), named, path, "2")
