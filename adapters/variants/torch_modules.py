"""The modules of torch.nn, made from the interface's weights and called once, in evaluation mode except for Dropout.

Without LayerNorm's and RMSNorm's own initial weights, in whose place the call uses those given: gradients flow back to
them, which a module that loads them would keep as parameters of its own. CrossEntropyLoss is given the logits as
(B, N, L), the class axis second, as its documentation asks.
"""

from __future__ import annotations

from typing import Any

from torch import nn, random
from torch.func import functional_call
from veriformer.adapters import torch

Tensor = Any

framework = "torch"
dtypes = torch.dtypes
conventions = torch.conventions


def softmax(x: Tensor) -> Tensor:
    """Turn each row of logits into a probability distribution, with torch.nn.Softmax."""
    return nn.Softmax(dim=-1)(x)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    """Bring each vector to zero mean and unit variance, with torch.nn.LayerNorm."""
    layer = nn.LayerNorm(x.shape[-1], eps=eps, dtype=x.dtype).eval()
    return functional_call(layer, {"weight": gamma, "bias": beta}, (x,))


def rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    """Bring each vector to unit root mean square, with torch.nn.RMSNorm."""
    layer = nn.RMSNorm(x.shape[-1], eps=eps, dtype=x.dtype).eval()
    return functional_call(layer, {"weight": gamma}, (x,))


def token_embedding(tokens: Tensor, table: Tensor) -> Tensor:
    """Look up the vector of each token, with torch.nn.Embedding."""
    # Called with the table itself, to which gradients then flow back: a module has a parameter of its own.
    return functional_call(nn.Embedding.from_pretrained(table), {"weight": table}, (tokens,))


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """Average how improbable the model found the tokens that came, with torch.nn.CrossEntropyLoss."""
    loss = nn.CrossEntropyLoss(ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction)
    return loss(logits.transpose(1, 2), targets)


def dropout(x: Tensor, *, rate: float, seed: int, training: bool = True) -> Tensor:
    """Replace entries by zero at random and scale the others up, with torch.nn.Dropout."""
    with random.fork_rng():
        random.manual_seed(seed)
        return nn.Dropout(rate).train(training)(x)


def gelu(x: Tensor) -> Tensor:
    """Weigh each entry by the normal distribution function, with torch.nn.GELU."""
    return nn.GELU()(x)


def silu(x: Tensor) -> Tensor:
    """Weigh each entry by its own logistic function, with torch.nn.SiLU."""
    return nn.SiLU()(x)
