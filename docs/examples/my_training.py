"""A training loop of a small GPT-2 in PyTorch, with a mistake in it."""

import torch
from torch.nn import functional as F

framework = "torch"
architectures = {"language_model": ("gpt",)}


def training_steps(tokens, weights, config, *, learning_rates, beta1, beta2, eps, weight_decay):
    parameters = tree(weights, lambda array: torch.nn.Parameter(array.clone()))
    optimizer = torch.optim.AdamW(
        arrays(parameters), lr=learning_rates[0], betas=(beta1, beta2), eps=eps, weight_decay=weight_decay
    )
    losses = []
    for batch, rate in zip(tokens, learning_rates, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = gpt(batch, parameters, config)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), tree(parameters, torch.Tensor.detach)


def gpt(tokens, weights, config):
    x = weights["embedding"][tokens] + weights["positions"][: tokens.shape[1]]
    for layer in weights["layers"]:
        x = x + attention(norm(x, layer["norm_1"], config), layer["self_attention"], config.num_heads)
        hidden = F.gelu(linear(norm(x, layer["norm_2"], config), layer["feed_forward"], "1"))
        x = x + linear(hidden, layer["feed_forward"], "2")
    return norm(x, weights["final_norm"], config) @ weights["embedding"].T


def norm(x, weights, config):
    return F.layer_norm(x, x.shape[-1:], weights["gamma"], weights["beta"], config.eps)


def attention(x, weights, heads):
    query, key, value = (linear(x, weights, name).unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv")
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return linear(mixed.transpose(1, 2).flatten(2), weights, "o")


def linear(x, weights, name):
    bias = weights[f"b_{name}"]
    return x @ weights[f"w_{name}"] if bias is None else x @ weights[f"w_{name}"] + bias


def tree(weights, make):
    """Return the weights as dictionaries and lists, each array made anew."""
    if isinstance(weights, torch.Tensor):
        return make(weights)
    if isinstance(weights, list):
        return [tree(layer, make) for layer in weights]
    if weights is None:
        return None
    members = weights if isinstance(weights, dict) else vars(weights)
    return {name: tree(member, make) for name, member in members.items()}


def arrays(weights):
    """Return all parameters of such a tree."""
    if isinstance(weights, torch.Tensor):
        return [weights]
    members = weights.values() if isinstance(weights, dict) else weights or []
    return [array for member in members for array in arrays(member)]
