"""A model called on other sequences than the one that it was recorded on.

The other arguments, such as a source or masks, are those of the recorded pass, as far as the sequence goes: of the
first sample, for each sample, or of `samples`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.matching.namespaces import broadcast, joined, reshaped, shape_of
from veriformer.adapters.outputs import named_arrays, result_of
from veriformer.adapters.whole_models.arguments import (
    Place,
    by_place,
    is_complex,
    parameters_of,
    place_of_sequence,
    places_of_keys,
)
from veriformer.adapters.whole_models.stage import Stage
from veriformer.adapters.whole_models.wrapping import NotWrapped

Array = np.ndarray[Any, np.dtype[Any]]
_NOTHING: Mapping[str, Any] = {}
_IMAGE, _ROWS = 4, 2
# A length that most models run on.
_SHORT = 4


@dataclass(frozen=True)
class Sequences:
    """The arguments of a model, of which one is a batch of sequences, (B, L) or (B, L, E), or of images.

    `axes` are those of samples and of positions in it; an axis that it lacks is None. Images are sequences of one
    vector. `pooled` says that the result has no axis of positions, but one vector for each sample. `beside` are the
    places, among the arrays that the model returns, of vectors of each sample that come beside the result: they are
    joined to the result of each position. `at` is the place of the result among so many arrays. `samples` are those of
    the recorded pass whose other arguments each sample gets; that is the first for all where it is empty. `alike` are
    the places of keys and values, which are the sequence itself in every call but the recorded one.
    """

    stage: Stage
    place: Place
    given: Mapping[Place, Any]
    axes: tuple[int | None, int | None]
    pooled: bool = False
    beside: tuple[int, ...] = ()
    at: tuple[int, int] | None = None
    samples: tuple[int, ...] = ()
    alike: tuple[Place, ...] = ()

    @property
    def recorded(self) -> Any:
        """The sequence of the recorded pass, as it was handed over."""
        return self.given[self.place]

    @property
    def shape(self) -> tuple[int, int]:
        """The samples and positions of the recorded pass."""
        size = [1 if axis is None else int(self.recorded.shape[axis]) for axis in self.axes]
        return size[0], size[1]

    @property
    def width(self) -> int:
        """How many numbers each position of a sequence of vectors has; all numbers of an image."""
        shape = tuple(int(size) for size in self.recorded.shape)
        if self.axes[1] is not None:
            return shape[-1]
        return math.prod(shape if self.axes[0] is None else shape[1:])

    @cached_property
    def is_fixed(self) -> bool:
        """Whether the model was built for sequences of one length: it runs on those of the recorded pass alone."""
        length = self.shape[1]
        if self.axes[1] is None or length <= _SHORT:
            return False
        own = self.as_numpy(self.recorded)
        own = own.swapaxes(0, 1) if self.axes == (1, 0) else own if self.axes[0] is not None else own[None]
        try:
            self.outputs(self.as_framework(own[:1, :_SHORT]))
        except Exception:
            return True
        return False

    @property
    def others(self) -> Mapping[Place, Any]:
        """The arrays among the other arguments."""
        own = (self.place, *self.alike)
        return {place: value for place, value in self.given.items() if place not in own and is_array(value)}

    @property
    def has_arguments_of_samples(self) -> bool:
        """Whether other arguments differ between the samples of the recorded pass."""
        axis, count = self.axes[0], self.shape[0]
        # An axis as long as that of the positions may be another one of these.
        if axis is None or count < 2 or count == self.shape[1]:
            return False
        plain = (one for one in self.others.values() if not is_complex(self.stage, one))
        arrays = map(self.stage.framework.to_numpy, plain)
        of_samples = (one for one in arrays if one.ndim > axis and one.shape[axis] == count)
        return any((one != one.take([0], axis)).any() for one in of_samples)

    def of_samples(self, samples: Array) -> Sequences:
        """Return the sequences whose samples get the other arguments of these samples of the recorded pass."""
        return replace(self, samples=tuple(int(one) for one in samples))

    @property
    def grows(self) -> bool:
        """Whether the other arguments serve sequences of any length."""
        length = self.shape[1]
        return not any(length in tuple(array.shape) for array in self.others.values())

    def outputs(self, inputs: Any, extra: Mapping[str, Any] = _NOTHING) -> Any:
        """Return the result (B, L, ·) for inputs (B, L) or (B, L, E), arrays of the framework.

        `extra` are further arguments by name. A model of single sequences is called for each of them.
        """
        if self.axes[0] is None and len(inputs) > 1:
            return self._stacked([self._one(inputs[place : place + 1], extra) for place in range(len(inputs))])
        return self._one(inputs, extra)

    def returned(self, inputs: Any, extra: Mapping[str, Any] = _NOTHING) -> Any:
        """Return whatever the model returns for inputs."""
        return self.stage.call(*self.arguments(inputs, extra))

    def arguments(self, inputs: Any, extra: Mapping[str, Any] = _NOTHING) -> Arguments:
        """Return the arguments of a call."""
        batch, length = int(inputs.shape[0]), int(inputs.shape[1])
        made = {place: self._other(place, batch, length) for place in self.given if place != self.place}
        made |= {place: self._own(inputs) for place in (self.place, *self.alike)}
        made |= {self.place_of(name): value for name, value in extra.items()}
        count = 1 + max((place for place in made if isinstance(place, int)), default=-1)
        positional = tuple(made.get(place) for place in range(count))
        return positional, {place: value for place, value in made.items() if isinstance(place, str)}

    def place_of(self, name: str) -> Place:
        """Return where an argument stands that was handed over by position, else its name."""
        names = [parameter.name for parameter in parameters_of(self.stage)]
        index = names.index(name) if name in names else -1
        return index if index in self.given else name

    def result(self, returned: Any, batch: int, length: int) -> Any:
        """Return the result (B, L, ·) among what the model returned."""
        arrays = self._arrays(returned)
        # In a call of another length other arrays may have the axes of a result, such as scores of as many classes.
        known = self.at is not None and self.at[1] == len(arrays)
        found = arrays[self.at[0]] if self.at is not None and known else self._result_in(returned, batch, length)
        if found is None:
            raise NotWrapped("it returns no array")
        return self._with_vectors(self._arranged(found, batch, length), returned)

    def _result_in(self, returned: Any, batch: int, length: int) -> Any:
        """Return the array that is the result, by its name or its axes; None where there is none."""
        own = tuple(size for axis, size in self._in_order(batch, length) if axis is not None)
        return result_of(returned, self.stage.framework.is_array, lambda array: tuple(array.shape[: len(own)]) == own)

    def with_vectors_beside(self) -> Sequences:
        """Return the sequences whose result has the vectors of each sample that the model returns besides."""
        if self.pooled or self.axes != (0, 1):
            return self
        samples, length = self.shape
        shapes = [tuple(one.shape) for one in self._arrays(self.returned(self.recorded)) if self._is_floating(one)]
        places = (place for place, shape in enumerate(shapes) if len(shape) == 2 and shape[0] == samples)
        return replace(self, beside=tuple(place for place in places if shapes[place][1] != length))

    @property
    def notices(self) -> tuple[str, ...]:
        """What is to be known of the result."""
        if not self.beside:
            return ()
        return ("What it returns for each sample as a whole is judged too, behind the columns of its positions",)

    def _arrays(self, returned: Any) -> list[Any]:
        return [array for _, array in named_arrays(returned, self.stage.framework.is_array)]

    def _is_floating(self, array: Any) -> bool:
        return "float" in self.stage.framework.dtype_name(array)

    def _with_vectors(self, result: Any, returned: Any) -> Any:
        if not self.beside:
            return result
        arrays = [one for one in self._arrays(returned) if self._is_floating(one)]
        samples, length = shape_of(result)[:2]
        vectors = [arrays[place] for place in self.beside]
        rows = [broadcast(reshaped(one, (samples, 1, -1)), (samples, length, shape_of(one)[-1])) for one in vectors]
        return joined([result, *rows], -1)

    def _one(self, inputs: Any, extra: Mapping[str, Any]) -> Any:
        batch, length = int(inputs.shape[0]), int(inputs.shape[1])
        return self.result(self.returned(inputs, extra), batch, length)

    def _in_order(self, batch: int, length: int) -> list[tuple[int | None, int]]:
        """Return the axes of samples and positions with their sizes, as the model has them."""
        pairs = [(self.axes[0], batch), (self.axes[1], length)]
        return sorted(pairs, key=lambda pair: -1 if pair[0] is None else pair[0])

    def _arranged(self, found: Any, batch: int, length: int) -> Any:
        if self.pooled:
            rows = found.reshape(batch, -1)[:, None]
            return rows + self.as_framework(np.zeros((1, length, 1)))
        if found.ndim == sum(axis is not None for axis in self.axes):
            # One number for each position.
            found = found[..., None]
        if self.axes == (1, 0):
            return found.swapaxes(0, 1)
        return found[None] if self.axes[0] is None else found

    def _own(self, inputs: Any) -> Any:
        name = self.stage.framework.dtype_name(inputs)
        if "float" in name and name != self.stage.dtype:
            inputs = self.as_framework(self.as_numpy(inputs))
        if self.axes[1] is None:
            shape = self.recorded.shape
            return inputs.reshape(shape if self.axes[0] is None else (inputs.shape[0], *shape[1:]))
        if self.axes == (1, 0):
            return inputs.swapaxes(0, 1)
        return inputs[0] if self.axes[0] is None else inputs

    def _other(self, place: Place, batch: int, length: int) -> Any:
        if place not in self.others:
            return self.given[place]
        array, recorded = self.given[place], self.shape
        index: list[Any] = [slice(None)] * len(array.shape)
        for axis, size in enumerate(array.shape):
            if axis == self.axes[0] and size == recorded[0] > 1:
                index[axis] = [one % size for one in self.samples] or [0] * batch
            elif size == recorded[1] > 1:
                index[axis] = slice(length)
        if is_complex(self.stage, array):
            # NumPy's side of a framework has no complex numbers; a part of a table stays what it is.
            return array[tuple(index)]
        return self.as_framework(self.stage.framework.to_numpy(array)[tuple(index)])

    def _stacked(self, results: list[Any]) -> Any:
        return self.as_framework(np.concatenate([self.stage.framework.to_numpy(one) for one in results]))

    def as_framework(self, array: Array) -> Any:
        """Return an array of the framework, floating-point numbers in the dtype of the stage."""
        return self.stage.framework.from_numpy(array, self.stage.dtype)

    def as_numpy(self, array: Any) -> Array:
        """Return an array of NumPy."""
        return self.stage.framework.to_numpy(array)


def sequences_of(stage: Stage, arguments: Arguments) -> Sequences:
    """Return how a model is called on sequences; NotWrapped where its recorded arguments do not tell."""
    given, returned = by_place(arguments), stage.call(*arguments)
    place = place_of_sequence(stage, given, returned)
    array = given[place]
    tokens = stage.framework.to_numpy(array).dtype.kind != "f"
    rank = len(array.shape)
    if _compares_samples(stage, given, place, returned):
        raise NotWrapped("its result is of pairs of samples, so that no sample has one of its own")
    if rank == _IMAGE or (rank == _ROWS and not tokens and _has_samples_beside(given, place)):
        return Sequences(stage, place, given, (0, None), pooled=True)
    if rank == _IMAGE - 1 and not tokens and _has_one_vector(stage, returned):
        return Sequences(stage, place, given, (None, None), pooled=True)
    keys_and_values = places_of_keys(stage, given, place)
    if rank == (1 if tokens else 2):
        return judged_by_result(Sequences(stage, place, given, (None, 0), alike=keys_and_values), returned)
    straight = judged_by_result(Sequences(stage, place, given, (0, 1), alike=keys_and_values), returned)
    turned = judged_by_result(Sequences(stage, place, given, (1, 0), alike=keys_and_values), returned)
    if not _keeps_samples_apart(turned):
        return straight
    if not _keeps_samples_apart(straight):
        return turned
    # Nothing is mixed, as where positions are added: the axis along which they are is that of positions.
    return turned if _treats_samples_alike(turned) and not _treats_samples_alike(straight) else straight


def _compares_samples(stage: Stage, given: Mapping[Place, Any], place: Place, returned: Any) -> bool:
    """Return whether a model of several inputs returns a number for each pair of their samples, as CLIP does."""
    count = int(given[place].shape[0])
    results = [array for _, array in named_arrays(returned, stage.framework.is_array)]
    pairs = bool(results) and tuple(results[0].shape) == (count, count)
    return count > 1 and pairs and _has_samples_beside(given, place)


def _has_one_vector(stage: Stage, returned: Any) -> bool:
    """Return whether a model returns one vector alone, as for one image (channels, height, width) without samples."""
    results = [array for _, array in named_arrays(returned, stage.framework.is_array)]
    return len(results) == 1 and len(results[0].shape) == 1


def _has_samples_beside(given: Mapping[Place, Any], place: Place) -> bool:
    """Return whether another input has as many entries along its first axis: rows of a table are samples then."""
    others = (value for one, value in given.items() if one != place and is_array(value) and len(value.shape))
    return any(value.shape[0] == given[place].shape[0] for value in others)


def judged_by_result(sequences: Sequences, returned: Any) -> Sequences:
    """Return the sequences with the place of the result, pooled if that has no axis of positions."""
    sizes = sequences._in_order(*sequences.shape)
    own = tuple(size for axis, size in sizes if axis is not None)
    found = sequences._result_in(returned, *sequences.shape)
    if found is None:
        raise NotWrapped("it returns no array")
    arrays = sequences._arrays(returned)
    at = next((place for place, array in enumerate(arrays) if array is found), None)
    pooled = tuple(found.shape[: len(own)]) != own
    return replace(sequences, pooled=pooled, at=None if at is None else (at, len(arrays)))


def _keeps_samples_apart(sequences: Sequences) -> bool:
    """Return whether other content of the first sample changes the result of no other one, if there are several.

    A sample with other arguments of its own gives the same alone as among the others. Where all of several sequences
    have their positions first, the queries alone would not tell.
    """
    inputs = sequences.as_numpy(sequences.recorded)
    inputs = inputs.swapaxes(0, 1) if sequences.axes == (1, 0) else inputs
    changed = inputs.copy()
    changed[0] = np.roll(inputs[0], 1, axis=0) if len(inputs[0]) > 1 else inputs[-1]
    try:
        one, other = (_result(sequences, array) for array in (inputs, changed))
        apart = _is_near(one[1:], other[1:], one)
        if len(one) > 1 and apart and _takes_several_sequences(sequences) and sequences.has_arguments_of_samples:
            every, last = np.arange(len(inputs)), np.array([len(inputs) - 1])
            one, other = _result(sequences.of_samples(every), inputs), _result(sequences.of_samples(last), inputs[last])
            apart = _is_near(one[last], other, one)
    except Exception:
        return False
    return len(one) > 1 and apart


def _treats_samples_alike(sequences: Sequences) -> bool:
    """Return whether samples in another order have their results in that order."""
    inputs = sequences.as_numpy(sequences.recorded)
    inputs = inputs.swapaxes(0, 1) if sequences.axes == (1, 0) else inputs
    try:
        one, other = (_result(sequences, array) for array in (inputs, inputs[::-1]))
    except Exception:
        return False
    return len(one) > 1 and _is_near(one[::-1], other, one)


def _takes_several_sequences(sequences: Sequences) -> bool:
    """Return whether other arguments are sequences of vectors too, as keys and values are."""
    shape = tuple(sequences.recorded.shape)
    return any(
        len(one.shape) == len(shape) > 2 and tuple(one.shape[:2]) == shape[:2] for one in sequences.others.values()
    )


def _result(sequences: Sequences, inputs: Array) -> Array:
    return sequences.as_numpy(sequences.outputs(sequences.as_framework(inputs)))


def _is_near(one: Array, other: Array, scale: Array) -> bool:
    return one.shape == other.shape and bool((np.abs(one - other) <= 1e-9 * np.abs(scale).max()).all())
