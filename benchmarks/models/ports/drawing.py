"""Weights for the tiny sources: nothing is zero, one or symmetric, so that no mistake in a port can hide."""

import os

import numpy as np
import torch


def generator():
    """Return the random numbers of this run; VERIFORMER_PORT_SEED chooses them."""
    return np.random.default_rng([17, int(os.environ.get("VERIFORMER_PORT_SEED", "0"))])


def redraw(model, zero_centred_gains=False):
    """Draw every parameter of a torch model anew: gains around 1, biases around 0, kernels by their width."""
    numbers = generator()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = numbers.normal(size=tuple(parameter.shape))
            if parameter.ndim == 1:
                middle = 1.0 if name.endswith("weight") and not zero_centred_gains else 0.0
                drawn = middle + 0.3 * noise
            elif "emb" in name or "wte" in name or "wpe" in name or "shared" in name or "bias" in name:
                drawn = 0.7 * noise
            else:
                drawn = 1.2 * noise / np.sqrt(np.prod(parameter.shape[1:]))
            parameter.copy_(torch.as_tensor(drawn))
    return model.eval()
