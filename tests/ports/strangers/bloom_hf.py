"""BLOOM of transformers: ALiBi, fused projections interleaved by head, a norm after the embedding."""

from trained import trained
from transformers import BloomConfig, BloomForCausalLM


def build():
    config = BloomConfig(vocab_size=73, hidden_size=48, n_layer=2, n_head=6, use_cache=False)
    return trained(BloomForCausalLM(config))
