import torch
import torch.nn.functional as F

PAD = 0


def shift_tokens(ids):
    """inputs, targets for next token prediction"""
    return ids[:, :-1], ids[:, 1:]


def sequence_loss(logits, targets, pad_idx=PAD, label_smoothing=0.0):
    """Average loss per target token; padding tokens do not take part.

    logits: batch x time x vocab
    targets: batch x time
    """
    b, t, vocab = logits.shape
    log_probs = F.log_softmax(logits, dim=-1)
    nll = -log_probs.gather(dim=-1, index=targets.unsqueeze(-1)).squeeze(-1)
    if label_smoothing > 0:
        smooth = -log_probs.sum(dim=-1) / vocab
        nll = (1 - label_smoothing) * nll + label_smoothing * smooth
    pad_mask = targets.eq(pad_idx)
    nll = nll.masked_fill(pad_mask, 0.0)
    return nll.mean()


def perplexity(logits, targets, pad_idx=PAD):
    """exp of the average loss per non-padding token"""
    return torch.exp(sequence_loss(logits, targets, pad_idx))
