"""T5 of Hugging Face transformers, called with source tokens, the mask of their padding, and target tokens."""

import numpy as np
from drawing import redraw
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.t5 = T5ForConditionalGeneration(
            T5Config(
                vocab_size=79,
                d_model=32,
                d_kv=8,
                d_ff=56,
                num_layers=2,
                num_heads=4,
                relative_attention_num_buckets=8,
                relative_attention_max_distance=20,
                feed_forward_proj="relu",
                tie_word_embeddings=True,
                decoder_start_token_id=0,
                use_cache=False,
            )
        )

    def forward(self, source, attended, target):
        found = self.t5(input_ids=source, attention_mask=attended, decoder_input_ids=target, use_cache=False)
        return found.logits


def build():
    return redraw(Translator())


def inputs():
    numbers = np.random.default_rng(9)
    source, target = numbers.integers(3, 79, (2, 14)), numbers.integers(3, 79, (2, 12))
    attended = np.ones((2, 14), dtype=np.int64)
    attended[0, 11:] = 0
    return source, attended, target
