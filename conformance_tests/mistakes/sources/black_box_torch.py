"""A small causal model of tokens, its weights fixed, of which the laws know nothing but what it takes."""

import torch

framework = "torch"
model_inputs = {"vocabulary_size": 11, "max_length": 9}
model_properties = ("causal",)

GENERATOR = torch.Generator().manual_seed(0)
TABLE = torch.randn(11, 6, generator=GENERATOR)
POSITIONS = torch.randn(9, 6, generator=GENERATOR)


def model(inputs, *, padding_mask=None):
    x = TABLE[inputs] + POSITIONS[: inputs.shape[1]]
    visible = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).tril()
    if padding_mask is not None:
        visible = visible & padding_mask[:, None]
    scores = (x @ x.mT).masked_fill(~visible, float("-inf"))
    return x + torch.softmax(scores, dim=-1) @ x
