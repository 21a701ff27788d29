"""A Vision Transformer of Hugging Face transformers."""

import numpy as np
from drawing import redraw
from transformers import ViTConfig, ViTForImageClassification


def config():
    return ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=52,
        image_size=16,
        patch_size=4,
        num_channels=3,
        num_labels=11,
        attn_implementation="eager",
    )


def build():
    return redraw(ViTForImageClassification(config()))


def inputs():
    return np.random.default_rng(10).normal(size=(2, 3, 16, 16)).astype(np.float32)
