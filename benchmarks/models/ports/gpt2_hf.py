"""GPT-2 of Hugging Face transformers, tiny."""

import numpy as np
from drawing import redraw
from transformers import GPT2Config, GPT2LMHeadModel

CONFIG = GPT2Config(
    vocab_size=83,
    n_positions=20,
    n_embd=32,
    n_layer=2,
    n_head=4,
    bos_token_id=0,
    eos_token_id=0,
    attn_implementation="eager",
    use_cache=False,
)


def build():
    return redraw(GPT2LMHeadModel(CONFIG))


def inputs():
    return np.random.default_rng(3).integers(1, 83, (2, 14))
