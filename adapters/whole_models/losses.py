"""The loss that a model returns if it is given labels: which argument takes them, and which label is ignored."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.adapters.outputs import named_arrays
from veriformer.adapters.whole_models.arguments import parameters_of
from veriformer.adapters.whole_models.sequence import Array, Sequences

LABELS = re.compile(r"^(lm_)?(labels?|targets?)$|^(target|label)_ids$|^y$")
_SHIFTED_BY_THE_MODEL = re.compile(r"^(lm_)?labels$")
# The label that says so in the interface, and those that do in libraries.
IGNORED = -100
_IGNORING = (-100, -1)
# The label of a position, of the next one, of the one after that (shifted twice), and of the one before.
_SHIFTS = (0, 1, 2, -1)
_EQUAL = 1e-5


@dataclass(frozen=True)
class Loss:
    """The argument for labels, and the label that is ignored there, None if none is known to be.

    `shift` says of which position, counted from that of the logits, each label is; `classes` how many logits there are.
    """

    argument: str
    ignored: int | None
    shift: int = 0
    classes: int = 0

    def notice(self, *, of_one_sequence: bool) -> str:
        """Return which label each position is judged by; `of_one_sequence` says that the input may be the labels.

        The caller of nanoGPT shifts `targets`, so that a label of the same position is right. Models of transformers
        take the tokens themselves as `labels`, and shift them.
        """
        if self.shift == 1:
            return f"Its loss is of the next token: the model shifts `{self.argument}`"
        if self.shift != 0:
            return ""
        if not of_one_sequence:
            return f"Its loss is of the same position: each is judged by its own entry of `{self.argument}`"
        same = f"Its loss is of the same position: the model does not shift `{self.argument}`"
        if _SHIFTED_BY_THE_MODEL.match(self.argument):
            return f"{same}. Handed its own tokens, as models of transformers are, it learns to repeat them"
        return f"{same}, its caller does"

    def of(self, sequences: Sequences, inputs: Any, labels: Array) -> Any:
        """Return the loss, a scalar; ValueError where the model returns none."""
        own = labels if self.ignored is None else np.where(labels == IGNORED, self.ignored, labels)
        arranged = own.swapaxes(0, 1) if sequences.axes == (1, 0) else own
        returned = sequences.returned(inputs, {self.argument: sequences.as_framework(arranged.copy())})
        found = _loss_in(returned, sequences)
        if found is None:
            raise ValueError("no loss was returned")
        return found


def _loss_in(returned: Any, sequences: Sequences) -> Any:
    """Return the scalar among what a model returned: the one called loss, or the only one."""
    arrays = list(named_arrays(returned, sequences.stage.framework.is_array))
    scalars = [(name, one) for name, one in arrays if one.ndim == 0 and "float" in _dtype(sequences, one)]
    named = [one for name, one in scalars if name == "loss"]
    return named[0] if named else scalars[0][1] if len(scalars) == 1 else None


def _dtype(sequences: Sequences, array: Any) -> str:
    return sequences.stage.framework.dtype_name(array)


def loss_of(sequences: Sequences, draw: Callable[[int, int], Array], longest: int) -> Loss | None:
    """Return the loss of a model; None where it takes no labels for positions, or returns no cross-entropy.

    A loss of another kind (of one number for each position, smoothed, or with a further term) is nobody's mistake.
    """
    if None in sequences.axes or sequences.pooled or longest < 4:
        return None
    inputs = sequences.as_framework(draw(2, 4))
    logits = sequences.as_numpy(sequences.outputs(inputs)).astype(np.float64)
    labels = np.arange(math.prod(inputs.shape)).reshape(tuple(inputs.shape)) % logits.shape[-1]
    for parameter in parameters_of(sequences.stage):
        if LABELS.match(parameter.name) and sequences.place_of(parameter.name) != sequences.place:
            shift = _shift_of(Loss(parameter.name, None), sequences, inputs, labels, logits)
            if shift is not None:
                return Loss(
                    parameter.name, _ignored(parameter.name, sequences, inputs, labels), shift, logits.shape[-1]
                )
    return None


def _shift_of(loss: Loss, sequences: Sequences, inputs: Any, labels: Array, logits: Array) -> int | None:
    """Return at which shift of the labels, right or wrong, a loss is a sum or mean of cross-entropies; None at none."""
    if logits.shape[-1] < 2 or not _is_finite(loss, sequences, inputs, labels):
        return None
    received = float(sequences.as_numpy(loss.of(sequences, inputs, labels)))
    largest = logits.max(axis=-1, keepdims=True)
    logs = logits - largest - np.log(np.exp(logits - largest).sum(axis=-1, keepdims=True))
    for shift in _SHIFTS:
        own, wanted = (logs[:, : -shift or None], labels[:, shift:]) if shift >= 0 else (logs[:, 1:], labels[:, :-1])
        total = -np.take_along_axis(own, wanted[..., None], axis=-1).sum()
        for count in (1, len(labels), wanted.size, labels.size):
            if abs(received - total / count) <= _EQUAL * abs(received):
                return shift
    return None


def _ignored(argument: str, sequences: Sequences, inputs: Any, labels: Array) -> int | None:
    """Return the label that is taken though it is that of no class; None where such an index raises nothing."""
    if sequences.stage.framework.name == "jax":
        return None
    some = labels.copy()
    some[0] = IGNORED
    return next((one for one in _IGNORING if _is_finite(Loss(argument, one), sequences, inputs, some)), None)


def _is_finite(loss: Loss, sequences: Sequences, inputs: Any, labels: Array) -> bool:
    try:
        return bool(np.isfinite(sequences.as_numpy(loss.of(sequences, inputs, labels))))
    except Exception:
        return False
