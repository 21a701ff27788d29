"""The gradients of a model along one direction of each group of parameters, and of vectors that it is given.

Each comes with difference quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.adapters.errors import DifferentiationRefused, NotDifferentiable
from veriformer.adapters.matching.texts import says_frozen
from veriformer.adapters.whole_models.sequence import Array, Sequences
from veriformer.adapters.whole_models.stage import STEPS

# Two results for each group.
_CALLS = 2
_PRODUCTS = 2_000_000_000
_FEWEST, _MOST, _MOST_ALONE = 2, 8, 16
# In the cases of gradients.
_TOKENS = 4


@dataclass(frozen=True)
class Gradients:
    """The parameters of a model that require a gradient, in groups, each moved along one direction."""

    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    """What each group is called: a parameter, or the first and the last of several."""
    of_input: bool = False
    """Whether the gradient of the inputs, which are vectors, is compared after the groups."""
    frozen: tuple[str, ...] = ()
    """The parameters that no gradient reaches by design, since the code says so: they are not compared."""

    def derivatives(self, sequences: Sequences, inputs: Any, cotangent: Any, extra: Mapping[str, Any]) -> Any:
        """Return (groups, 3): the derivative of ⟨cotangent, result⟩ along a direction, by differentiation and by the
        difference quotients of a step ahead and of one behind; one row more for inputs that are vectors.

        `extra` are further arguments by name: the one for padding hides nothing, since a gradient may pass through rows
        of padding whose logits are all lost in rounding.
        DifferentiationRefused where nothing leads from the result to any parameter: the model is made for inference.
        """
        stage = sequences.stage
        factors = sequences.as_numpy(cotangent)
        try:
            found = stage.gradients(lambda: sequences.outputs(inputs, extra), cotangent)
        except NotDifferentiable as error:
            raise DifferentiationRefused(str(error)) from error
        step = STEPS[stage.dtype]
        rows = []

        def value(at: Any = inputs) -> float:
            return float((factors * sequences.as_numpy(sequences.outputs(at, extra))).sum())

        here = value()
        for group in self.groups:
            with stage.moved(group, step):
                ahead = value()
            with stage.moved(group, -step):
                behind = value()
            derivative = sum(found[place] for place in group)
            rows.append((derivative, (ahead - here) / step, (here - behind) / step))
        if self.of_input:
            derivative = _along_input(sequences, inputs, cotangent, extra)
            moved = [value(_moved(sequences, inputs, by)) for by in (step, -step)]
            rows.append((derivative, (moved[0] - here) / step, (here - moved[1]) / step))
        return sequences.as_framework(np.array(rows))


def gradients_of(sequences: Sequences, draw: Callable[[int, int], Array]) -> Gradients | None:
    """Return the parameters whose gradients are compared; None where none is learned, or none is reached.

    One that a gradient does not reach is on its own, the others are together in a few groups.
    """
    stage, inputs = sequences.stage, sequences.as_framework(draw(1, _TOKENS if sequences.axes[1] is not None else 1))
    if not stage.learned or stage.dtype not in STEPS:
        return None
    try:
        cotangent = np.random.default_rng(0).normal(size=tuple(sequences.outputs(inputs).shape))
        found = stage.gradients(lambda: sequences.outputs(inputs), sequences.as_framework(cotangent))
    except (NotDifferentiable, RuntimeError):
        return None
    frozen = [place for place, one in enumerate(found) if one == 0.0] if says_frozen(stage.called) else []
    if len(frozen) == len(found):
        frozen = []
    compared = [place for place in range(len(found)) if place not in frozen]
    alone = [place for place in compared if found[place] == 0.0 or not np.isfinite(found[place])][:_MOST_ALONE]
    others = [place for place in compared if place not in alone]
    affordable = _PRODUCTS // (_CALLS * _TOKENS * max(stage.size, 1))
    number = max(_FEWEST, min(_MOST, affordable))
    parts = [part for part in np.array_split(np.array(others, dtype=int), number) if len(part)]
    groups = (*((place,) for place in alone), *(tuple(int(place) for place in part) for part in parts))
    names = [_name([stage.learned[place] for place in group]) for group in groups]
    of_input = _reaches_input(sequences, inputs, sequences.as_framework(cotangent))
    unreached = tuple(stage.learned[place] for place in frozen)
    return Gradients(groups, (*names, *(["the input"] if of_input else [])), of_input, unreached)


def _reaches_input(sequences: Sequences, inputs: Any, cotangent: Any) -> bool:
    """Return whether the inputs are vectors that a gradient reaches: a model may leave what it is given aside."""
    if sequences.as_numpy(inputs).dtype.kind != "f":
        return False
    try:
        return bool(_along_input(sequences, inputs, cotangent, {}))
    except (NotDifferentiable, RuntimeError):
        return False


def _along_input(sequences: Sequences, inputs: Any, cotangent: Any, extra: Mapping[str, Any]) -> float:
    """Return the derivative of ⟨cotangent, result⟩ along a direction of the inputs; 0 where no way leads to them."""
    found = sequences.stage.differentiated_by_input(lambda at: sequences.outputs(at, extra), inputs, cotangent)
    return 0.0 if found is None else float((sequences.as_numpy(found) * _direction(sequences, inputs)).sum())


def _moved(sequences: Sequences, inputs: Any, by: float) -> Any:
    return sequences.as_framework(sequences.as_numpy(inputs) + by * _direction(sequences, inputs))


def _direction(sequences: Sequences, inputs: Any) -> Array:
    """Return the numbers of the inputs in reverse: a direction along which no norm of them is constant."""
    array = sequences.as_numpy(inputs)
    return np.asarray(array.ravel()[::-1].reshape(array.shape))


def _name(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
