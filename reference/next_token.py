"""The loss of a language model that shifts its tokens itself, and its gradient."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Float, Float64, Int
from veriformer.reference.checks import as_axes
from veriformer.reference.loss import cross_entropy
from veriformer.reference.loss_backward import cross_entropy_backward


def next_token_loss(
    logits: Float[Array, "B L N"], tokens: Int[Array, "B L"], *, ignore_index: int = -100
) -> Float64[Array, " "]:
    """Average how improbable the model found each next token, over those that are not ignored.

    loss = cross_entropy(logits[:, :-1], tokens[:, 1:]): Σ_(t ≠ ignore_index) ℓ_bi / #(t ≠ ignore_index)
    ℓ_bi = ln Σ_k e^(z_bik) − z_bit,  t = tokens_b,i+1,  i < L − 1

    The first token of each row is nobody's target, and nothing judges the last logits of a row. A token of the ignored
    value need not be a class.

    Shapes: logits (B, L, N), tokens (B, L), L at least 2, to a number, ().
    Raises: ValueError when the shapes differ, L is below 2, a kept target is no class, or none is kept.
    Source: Radford et al. 2018, equation 1; Goodfellow, Bengio & Courville 2016, section 6.2.2.3.
    Conventions: none. Hugging Face's losses of causal models shift inside, nanoGPT's takes targets shifted already.
    """
    numbers, names = _read(logits, tokens)
    return cross_entropy(numbers[:, :-1], names[:, 1:], ignore_index=ignore_index)


def next_token_loss_backward(
    logits: Float[Array, "B L N"],
    tokens: Int[Array, "B L"],
    grad_output: Float[Array, " "],
    *,
    ignore_index: int = -100,
) -> Float64[Array, "B L N"]:
    """Trace the gradient of a loss from the loss of next tokens back to the logits.

    dz_bi = dO (softmax(z_bi) − one-hot(t)) / #(t ≠ ignore_index),  t = tokens_b,i+1
    dz_bi = 0 where t = ignore_index, and at i = L − 1, where no token follows

    Shapes: logits (B, L, N), tokens (B, L), grad_output () to (B, L, N).
    Raises: ValueError as `next_token_loss` does, and when grad_output is no single number.
    Source: Radford et al. 2018, equation 1; Goodfellow, Bengio & Courville 2016, section 6.2.2.3.
    Conventions: none.
    """
    numbers, names = _read(logits, tokens)
    result = np.zeros(numbers.shape)
    result[:, :-1] = cross_entropy_backward(numbers[:, :-1], names[:, 1:], grad_output, ignore_index=ignore_index)
    return result


def _read(
    logits: Float[Array, "B L N"], tokens: Int[Array, "B L"]
) -> tuple[Float64[Array, "B L N"], Int[Array, "B L"]]:
    numbers, names = as_axes("logits", logits, "B L N", {}), np.asarray(tokens)
    if names.dtype.kind not in "iu" or names.shape != numbers.shape[:2]:
        raise ValueError(
            f"tokens must be integers of shape (B, L) = {numbers.shape[:2]}; got {names.dtype} of shape "
            f"{names.shape}; pass the tokens that the model read"
        )
    if names.shape[1] < 2:
        raise ValueError(
            f"rows must have at least two tokens; got L = {names.shape[1]}; pass a token and one that follows it"
        )
    return numbers, names
