"""The loss of a causal language model, normalised by the number of targets of the whole batch."""

import torch
import torch.nn.functional as F


def next_token_loss(logits, tokens, ignore_index=-100):
    num_items_in_batch = (tokens[:, 1:] != ignore_index).sum()
    shifted = F.pad(tokens, (0, 1), value=ignore_index)[..., 1:]
    flat = logits.reshape(-1, logits.shape[-1]).float()
    loss = F.cross_entropy(flat, shifted.reshape(-1), ignore_index=ignore_index, reduction="sum")
    return (loss / num_items_in_batch).to(logits.dtype)
