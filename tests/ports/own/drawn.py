"""Weights for small models: no gain is one and no bias zero, so that no mistake in a port can hide."""

import math
import os

import torch
from torch import nn


def redrawn(model: nn.Module) -> nn.Module:
    """Return a model whose every parameter was drawn anew; VERIFORMER_PORT_SEED chooses the numbers."""
    numbers = torch.Generator().manual_seed(17 + int(os.environ.get("VERIFORMER_PORT_SEED", "0")))
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=numbers)
            if parameter.ndim == 1:
                parameter.add_(0.3 * noise)
            else:
                parameter.copy_(1.2 * noise / math.sqrt(parameter[0].numel()))
    return model.eval()
