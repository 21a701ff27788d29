"""Training a language model by AdamW on the loss of next tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from veriformer.reference.adamw import adamw_step
from veriformer.reference.array_types import Array, Float64, Int
from veriformer.reference.blocks import STANDARD, ModelConventions
from veriformer.reference.checks import as_tokens, require_choice, require_count, require_multiple
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.conventions import AdamWDecay, AdamWEps, DecayedWeights
from veriformer.reference.model_weights import (
    HasTransformerWeights,
    TransformerWeights,
    arrays_of,
    map_weights,
    names_of,
    role_of,
)
from veriformer.reference.next_token import next_token_loss, next_token_loss_backward
from veriformer.reference.transformer_backward import language_model_and_back


def training_steps(
    tokens: Int[Array, "T B L"],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    *,
    learning_rates: Sequence[float],
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    ignore_index: int = -100,
    micro_batches: int = 1,
    conventions: ModelConventions = STANDARD,
    eps_placement: AdamWEps = "after_correction",
    decay: AdamWDecay = "times_learning_rate",
    decayed: DecayedWeights = "all",
) -> tuple[Float64[Array, " T"], TransformerWeights]:
    """Train a language model by AdamW, each step on the next tokens of a batch of its own.

    loss_t = next_token_loss(language_model(tokens_t; w), tokens_t),  g = ∂loss_t/∂w,  w the weights before step t
    w, m, v ← adamw_step(w, g, m, v; step t, learning rate η_t),  m = v = 0 before step 1

    A batch in M parts of as many samples has the same loss, the mean over all its targets, and the same gradients: the
    parts' gradients add up, each part's mean weighed by its share of the targets. A weight that is not among the
    `decayed` ones moves with a decay of 0.

    Shapes: tokens (T, B, L), learning_rates (T,), to the losses (T,) and the weights after the last step.
    Raises: ValueError when the rates are not as many as the batches, B is no multiple of M, no target of a batch is
    kept, or as `language_model`, `next_token_loss` and `adamw_step` do.
    Source: Vaswani et al. 2017, section 5; Loshchilov & Hutter 2019, algorithm 2; Radford et al. 2018, section 3.1.
    Conventions: those of `language_model` and of `adamw_step`, and decayed_weights (nanoGPT spares gains, shifts and
    biases, minGPT tables too, OLMo 2 tables alone).
    """
    batches = _checked(tokens, learning_rates, micro_batches)
    require_choice("decayed", decayed, DecayedWeights)
    now: Any = weights
    first: Any = None
    second: Any = None
    losses = []
    for number, (batch, rate) in enumerate(zip(batches, learning_rates, strict=True), start=1):
        loss, gradients = _whole_batch(np.split(batch, micro_batches), now, config, ignore_index, conventions)
        losses.append(loss)
        if number == 1:
            # Any object has the weights; from here on they are a record as the gradients are.
            now = map_weights(lambda _, array: np.asarray(array, dtype=np.float64), gradients, now)
            first = second = map_weights(np.zeros_like, gradients)
        step = partial(
            adamw_step,
            step=number,
            learning_rate=rate,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eps_placement=eps_placement,
            decay=decay,
        )
        decays_of = [weight_decay if decays(name, decayed) else 0.0 for name in names_of(gradients)]
        now, first, second = _moved(step, decays_of, gradients, now, first, second)
    return np.asarray(losses), now


def decays(name: str, decayed: DecayedWeights) -> bool:
    """Return whether an array of weights decays, by its name in its record.

    Shapes: none.
    Raises: nothing.
    Source: karpathy/nanoGPT and karpathy/minGPT, `configure_optimizers`; allenai/OLMo, `decay_embeddings`.
    """
    role = role_of(name)
    if role == "table":
        return decayed in ("all", "matrices")
    return role == "matrix" or decayed in ("all", "all_without_embeddings")


def _moved(
    step: Callable[..., Any], decays_of: Sequence[float], gradients: Any, weights: Any, first: Any, second: Any
) -> tuple[Any, Any, Any]:
    """Return the weights and their two moments after a step, which moves array by array, each with its own decay."""
    trees = (weights, gradients, first, second)
    each = zip(decays_of, *map(arrays_of, trees), strict=True)
    moved = [step(*arrays, weight_decay=decay) for decay, *arrays in each]
    new, mean, square = (_like(gradients, [results[place] for results in moved]) for place in range(3))
    return new, mean, square


def _like(tree: Any, arrays: list[Array]) -> Any:
    """Return a tree with other arrays, in the order of its own."""
    following = iter(arrays)
    return map_weights(lambda _: next(following), tree)


def _whole_batch(
    parts: Sequence[Int[Array, "b L"]],
    weights: HasTransformerWeights,
    config: TransformerConfiguration,
    ignore_index: int,
    conventions: ModelConventions,
) -> tuple[float, Any]:
    """Return the loss of a batch in parts and its gradients: the parts' means, weighed by their targets."""
    targets = [int(np.sum(part[:, 1:] != ignore_index)) for part in parts]
    loss, gradients = 0.0, None
    for part, count in zip(parts, targets, strict=True):
        if not count and any(targets):
            continue
        share = count / max(sum(targets), 1)
        logits, back = language_model_and_back(part, weights, config, conventions=conventions)
        loss += share * float(next_token_loss(logits, part, ignore_index=ignore_index))
        slope = next_token_loss_backward(logits, part, np.asarray(share), ignore_index=ignore_index)
        found = back(slope)
        gradients = found if gradients is None else map_weights(np.add, gradients, found)
    return loss, gradients


def _checked(tokens: Int[Array, "T B L"], learning_rates: Sequence[float], micro_batches: int) -> Int[Array, "T B L"]:
    batches = as_tokens("tokens", tokens, "T B L")
    if not len(batches) or len(learning_rates) != len(batches):
        raise ValueError(
            f"learning_rates must be one for each batch of tokens, and at least one; got {len(learning_rates)} for "
            f"{len(batches)} batches; pass tokens of shape (T, B, L) and T rates"
        )
    require_count("micro_batches", micro_batches, 1)
    require_multiple("the batch B", batches.shape[1], "micro_batches", micro_batches)
    return batches
