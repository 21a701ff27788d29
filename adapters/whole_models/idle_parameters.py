"""Parameters that a model reads and that change none of its results, whatever they are.

A number that is added to all logits of a softmax alike is one, as a wrong sink of an attention does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from veriformer.adapters.errors import NotDifferentiable
from veriformer.adapters.outputs import named_arrays
from veriformer.adapters.whole_models.sequence import Array, Sequences

# As parts of the largest gradient, those of other parameters are larger, and the roundings of float64 smaller.
_NO_GRADIENT = 1e-9
_SAME = 1e-9
# The last one changes the order of the scores of a router, whose bias for the choice has no gradient.
_MOVES = (1.0, -1.0, 100.0)
# The shape of the inputs of gradients, which a model was compiled for.
_TOKENS = 4
# Each takes half a dozen passes.
_MOST = 24
_NUMBER = re.compile(r"\d+")


def idle_parameters(sequences: Sequences, draw: Callable[[int, int], Array], known: Collection[str]) -> tuple[str, ...]:
    """Return the parameters that are read and change nothing, but for those that are `known` to change nothing.

    An expert that gets no token changes nothing either; the other experts tell.
    """
    stage = sequences.stage
    if stage.dtype != "float64" or not stage.learned:
        return ()
    try:
        along = np.abs(_gradients(sequences, draw))
    except (NotDifferentiable, RuntimeError):
        return ()
    still = [place for place, size in enumerate(along) if size <= _NO_GRADIENT * along.max(initial=0.0)]
    moving = {stage.learned[place] for place in range(len(along)) if place not in still}
    asked = [place for place in still if stage.learned[place] not in known]
    asked = [place for place in asked if not _is_one_of_many(stage.learned[place], moving)]
    if not asked or len(asked) > _MOST:
        return ()
    inputs = [sequences.as_framework(draw(*sequences.shape)) for _ in range(2)]
    try:
        return tuple(stage.learned[place] for place in asked if all(_changes_nothing(sequences, place, inputs)))
    except Exception:
        # What it returns for other numbers cannot be known.
        return ()


def _gradients(sequences: Sequences, draw: Callable[[int, int], Array]) -> Array:
    inputs = sequences.as_framework(draw(1, _TOKENS if sequences.axes[1] is not None else 1))
    cotangent = np.random.default_rng(0).normal(size=tuple(sequences.outputs(inputs).shape))
    return np.array(sequences.stage.gradients(lambda: sequences.outputs(inputs), sequences.as_framework(cotangent)))


def _is_one_of_many(name: str, moving: Collection[str]) -> bool:
    """Return whether a parameter of the same name in another expert has an effect: the last number is the expert's."""
    numbers = list(_NUMBER.finditer(name))
    if not numbers or (len(numbers) == 1 and "expert" not in name):
        return False
    begin, end = numbers[-1].span()
    others = re.compile(rf"{re.escape(name[:begin])}\d+{re.escape(name[end:])}")
    return any(map(others.fullmatch, moving))


def _changes_nothing(sequences: Sequences, place: int, inputs: Sequence[Any]) -> Iterator[bool]:
    """Yield for each way to move a parameter whether all that the model returns stays the same."""
    for given in inputs:
        before = _returned(sequences, given)
        for by in _MOVES:
            with sequences.stage.moved((place,), by):
                after = _returned(sequences, given)
            yield len(before) == len(after) and all(map(_is_same, before, after))


def _returned(sequences: Sequences, inputs: Any) -> list[Array]:
    arrays = named_arrays(sequences.returned(inputs), sequences.stage.framework.is_array)
    return [np.array(sequences.as_numpy(one)) for _, one in arrays]


def _is_same(one: Array, other: Array) -> bool:
    if one.shape != other.shape or one.dtype.kind != "f":
        return np.array_equal(one, other)
    return bool((np.abs(one - other) <= _SAME * np.abs(one).max(initial=0.0)).all())
