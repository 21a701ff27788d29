"""How long the sequences are that a model takes, how many it takes in a call, and what is worth the time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from veriformer.adapters.whole_models.sequence import Array, Sequences

LONGEST = 512
# A call of so many multiplications takes about a second.
_PRODUCTS = 5_000_000_000
_DECLARED = re.compile(
    r"^(max_position_embeddings|max_(seq|sequence|context|pos|input)_?(len|length|size)?|n_positions|n_ctx|"
    r"block_size|context_(len|length|size|window)|ctx_len|seq_len|sequence_length|max_len)$"
)
_SETTINGS = ("config", "cfg", "args", "params", "hparams", "model_args", "conf")


def longest_that_runs(sequences: Sequences) -> int:
    """Return the largest number of positions, of at most 512, with which a model runs, and for which there is time."""
    if sequences.axes[1] is None:
        return 1
    recorded = sequences.shape[1]
    if not sequences.grows or sequences.is_fixed:
        return recorded
    stage = sequences.stage
    affordable = _PRODUCTS // max(stage.size, 1)
    most = max(recorded, min(LONGEST, affordable, *_declared(stage.model), *_tables(sequences)))
    fits, fails = recorded, most + 1
    if stage.framework.compiles_per_shape:
        return most if _runs(sequences, most) else recorded
    while fails - fits > 1:
        # The longest first: most models run on it.
        length = most if fails == most + 1 else (fits + fails) // 2
        if _runs(sequences, length):
            fits = length
        else:
            fails = length
    return fits


def most_samples(sequences: Sequences, most: int) -> int | None:
    """Return how many samples a model takes in a call, where it takes fewer than `most`; None where it takes these."""
    own = _recorded(sequences)
    if sequences.axes[0] is None or sequences.stage.framework.compiles_per_shape or len(own) >= most:
        return None
    takes = (batch for batch in range(most, len(own), -1) if _answered(sequences, _of_samples(own, batch)) is not None)
    found = next(takes, len(own))
    return None if found == most else found


def _of_samples(own: Array, batch: int) -> Array:
    return np.resize(own, (batch, *own.shape[1:]))


def _recorded(sequences: Sequences) -> Array:
    """Return the sequence of the recorded pass, its samples first."""
    own = sequences.as_numpy(sequences.recorded)
    return own.swapaxes(0, 1) if sequences.axes == (1, 0) else own if sequences.axes[0] is not None else own[None]


def _answered(sequences: Sequences, given: Array) -> Array | None:
    """Return the result of a call; None where it raises, or not all of it is finite."""
    try:
        result = sequences.as_numpy(sequences.outputs(sequences.as_framework(given)))
    except Exception:
        return None
    return result if np.isfinite(result).all() else None


def _runs(sequences: Sequences, length: int) -> bool:
    own = _recorded(sequences)
    result = _answered(sequences, np.resize(own[:1].swapaxes(0, 1), (length, 1, *own.shape[2:])).swapaxes(0, 1))
    return result is not None and result.shape[1] == length


def _declared(model: Any) -> Iterator[int]:
    """Yield the lengths that a model, or its configuration, states under the usual names."""
    for holder in (model, *(getattr(model, name, None) for name in _SETTINGS)):
        members = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
        for name, value in members.items():
            if _DECLARED.match(str(name)) and isinstance(value, int) and not isinstance(value, bool) and value > 1:
                yield value


def _tables(sequences: Sequences) -> Iterator[int]:
    """Yield the rows of arrays that may be tables by position, where an index beyond a table raises nothing."""
    if sequences.stage.framework.name == "jax":
        recorded = sequences.shape[1]
        shapes = (*sequences.stage.shapes.values(), *sequences.stage.buffers.values())
        yield from (shape[-2] for shape in shapes if len(shape) >= 2 and shape[-2] >= recorded)
