"""Dropout and its gradient."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import as_float64, as_grad_output, require_count


def dropout(x: Float[Array, "*shape"], *, rate: float, seed: int, training: bool = True) -> Float64[Array, "*shape"]:
    """Replace each entry by zero with probability p, and divide the others by 1 − p.

    x m / (1 − p), m = 0 with probability p and else 1, independently for each entry        in training
    x                                                                                       in evaluation

    This is inverted dropout: on average the result is x, so that nothing is left to do in evaluation.

    Shapes: any, to the same.
    Raises: ValueError when x does not hold real numbers, p is not in [0, 1), or the seed is no integer from 0 on.
    Source: Srivastava et al. 2014, section 4 (the mask) and section 10 (the factor in training); Vaswani et al. 2017,
    section 5.4.
    """
    entries = as_float64("x", x)
    mask = dropout_mask(entries.shape, rate, seed)
    return kept_entries(entries, mask, rate) if training else entries.copy()


def dropout_backward(
    x: Float[Array, "*shape"], grad_output: Float[Array, "*shape"], *, rate: float, seed: int, training: bool = True
) -> Float64[Array, "*shape"]:
    """Go back through dropout: a gradient passes where the forward pass with this seed kept the entry.

    dx = dO m / (1 − p)                                                                     in training
    dx = dO                                                                                 in evaluation

    Shapes: any, the same for both and for the result.
    Raises: ValueError when grad_output has not the shape of x, and as dropout does.
    Source: Srivastava et al. 2014, section 5.1: backpropagation through the thinned network.
    """
    gradient = as_grad_output(grad_output, as_float64("x", x).shape)
    return dropout(gradient, rate=rate, seed=seed, training=training)


def dropout_mask(shape: tuple[int, ...], rate: float, seed: int) -> Bool[Array, "*shape"]:
    """Return which entries are kept, each with probability 1 − p and independently of the others.

    The mask is True where a number drawn evenly from [0, 1) is p or more.

    Shapes: the result has the shape that is given.
    Raises: ValueError when p is not in [0, 1), or the seed is no integer from 0 on.
    Source: Srivastava et al. 2014, section 4.
    """
    require_count("seed", seed, 0)
    if not 0.0 <= rate < 1.0:
        raise ValueError(
            f"rate must be at least 0 and less than 1; got {rate!r}; pass the probability that an entry is dropped"
        )
    return np.asarray(np.random.default_rng(seed).random(shape) >= rate)


def kept_entries(x: Float[Array, "*shape"], mask: Bool[Array, "*shape"], rate: float) -> Float64[Array, "*shape"]:
    """Return x / (1 − p) where the mask is True, and 0 elsewhere.

    Shapes: x and mask of one shape, which is the result's.
    Raises: ValueError when x does not hold real numbers.
    Source: Srivastava et al. 2014, section 10.
    """
    return np.where(mask, as_float64("x", x) / (1.0 - rate), 0.0)
