"""GPT-2 small with random weights, 124 million parameters: how long a check takes, and how much memory.

/usr/bin/time -v veriformer check benchmarks/models/gpt2_small.py:build
"""

import torch
import transformers


def build() -> transformers.GPT2LMHeadModel:
    """Return the model."""
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config())
