"""Which token a model takes for padding by itself: the one whose keys no query sees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.model_reading import ModelReading


def padding_token(model: ModelReading) -> int | None:
    """Return the token that self-attentions hide; None where they hide none, or several, or others besides.

    A model of a source and a target is none of a single sequence, whose padding this would be.
    """
    tokens = [one for one in model.trace.inputs if model.flow.array(one).dtype.kind == "i"]
    if len(tokens) != 1 or any(one.kind == "cross_attention" for one in model.readings):
        return None
    found = {token for setting in _settings(model) for token in _hidden(model, setting, tokens[0])}
    return found.pop() if len(found) == 1 else None


def _settings(model: ModelReading) -> Iterator[Setting]:
    for one in model.readings:
        if one.attention is not None and one.attention.setting is not None:
            yield one.attention.setting


def _hidden(model: ModelReading, setting: Setting, index: int) -> Iterator[int]:
    """Yield the tokens whose keys a mask hides from all queries, wherever they stand, while it shows others."""
    # A single sequence has no axis of samples.
    tokens, mask = np.atleast_2d(model.flow.array(index)), setting.mask
    if (
        mask is None
        or tokens.ndim > 2
        or mask.ndim < 2
        or mask.shape[-1] != tokens.shape[-1]
        or len(mask) not in (1, len(tokens))
    ):
        return
    seen = mask.reshape(len(mask), -1, mask.shape[-1]).any(axis=1)
    seen = np.broadcast_to(seen, tokens.shape)
    # Where all keys of a sample are hidden, a finite fill leaves all visible.
    mixed = seen.any(axis=-1) & ~seen.all(axis=-1)
    hidden = np.setdiff1d(tokens[mixed][~seen[mixed]], tokens[mixed][seen[mixed]])
    yield from (int(one) for one in hidden)
