"""Which of a model's arguments is the sequence that its results belong to, by what it was recorded on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.capture.roles import role_of
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.outputs import result_of
from veriformer.adapters.whole_models.stage import Stage
from veriformer.adapters.whole_models.wrapping import NotWrapped

# Where an argument stands: its place among the positional ones, or its keyword.
Place = int | str
# They say something about each token.
_ABOUT_TOKENS = re.compile(r"mask|padding|segment|type_ids|position|pos_ids|label", re.IGNORECASE)
_TARGET = re.compile(r"tgt|trg|target|decoder|caption|^y$|^dec", re.IGNORECASE)


def parameters_of(stage: Stage) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a model's inputs, without catch-alls; none where its signature cannot be read."""
    try:
        parameters = list(inspect.signature(stage.called).parameters.values())[stage.first_input :]
    except (TypeError, ValueError):
        return ()
    return tuple(one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD))


def by_place(arguments: Arguments) -> dict[Place, Any]:
    """Return arguments by their place among the positional ones, or by keyword."""
    positional, keywords = arguments
    given: dict[Place, Any] = dict(enumerate(positional))
    given.update(keywords)
    return given


def place_of_sequence(stage: Stage, given: Mapping[Place, Any], returned: Any) -> Place:
    """Return where the sequence is that the results belong to: of a source and a target it is the target.

    NotWrapped where there is none.
    """
    names = [parameter.name for parameter in parameters_of(stage)]
    for place, value in given.items():
        if _holds_arrays(value):
            # Laws change the samples and the lengths, and a state would no longer go with them.
            raise NotWrapped(f"its input {_name(place, names) or place} holds several arrays, such as a state")
    arrays = {place: value for place, value in given.items() if is_array(value)}
    sequences = _without_numbers_of_samples(
        {place: array for place, array in arrays.items() if is_sequence(stage, array)}
    )
    if not sequences:
        raise NotWrapped("none of its inputs is a sequence of tokens or vectors, or an image")
    if len(sequences) == 1:
        (only,) = sequences
        return only
    by_name = [place for place in sequences if _TARGET.search(_name(place, names))]
    result = result_of(returned, stage.framework.is_array, lambda _: False)
    shape = () if result is None else tuple(result.shape[:2])
    by_shape = [place for place, array in sequences.items() if tuple(array.shape[:2]) == shape]
    themselves = [
        place
        for place, array in sequences.items()
        if not _ABOUT_TOKENS.search(_name(place, names)) and not is_of_flags(stage.framework.to_numpy(array))
    ]
    for found in (by_name, by_shape, themselves):
        if len(found) == 1:
            return found[0]
    # Of several that the results come from alike, the laws change the first, and the others stay.
    return next(found[0] for found in (by_shape, themselves, list(sequences)) if found)


def places_of_keys(stage: Stage, given: Mapping[Place, Any], place: Place) -> tuple[Place, ...]:
    """Return where keys and values stand that go with queries at a place, all vectors of one width; none elsewhere.

    An attention is told whom a query sees; where the keys are the queries' own vectors, its mask is one of tokens.
    """
    names = [parameter.name for parameter in parameters_of(stage)]
    if role_of(_name(place, names)) != "query":
        return ()
    found = tuple(
        one for one, value in given.items() if is_array(value) and role_of(_name(one, names)) in ("key", "value")
    )
    shape = tuple(given[place].shape)
    fits = all(len(given[one].shape) == len(shape) and given[one].shape[-1] == shape[-1] for one in found)
    return found if fits and stage.framework.to_numpy(given[place]).dtype.kind == "f" else ()


def _without_numbers_of_samples(sequences: Mapping[Place, Any]) -> dict[Place, Any]:
    """Return sequences without those that have one number for each sample of another, such as its length."""
    batches = {int(array.shape[0]) for array in sequences.values() if len(array.shape) > 1}
    return {
        place: array for place, array in sequences.items() if len(array.shape) > 1 or int(array.shape[0]) not in batches
    }


def is_of_flags(values: Array) -> bool:
    """Return whether an array is of truth values, or of nothing but zeros and ones, as masks and segments are."""
    return values.dtype.kind == "b" or (values.dtype.kind in "iu" and bool(((values == 0) | (values == 1)).all()))


def _holds_arrays(value: Any) -> bool:
    """Return whether a value is a list or a dictionary with arrays in it, as the state of earlier calls is."""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(is_array(one) or _holds_arrays(one) for one in inside)


def name_at(stage: Stage, place: Place) -> str:
    """Return the name of an argument; "its input 0" where it has none."""
    return _name(place, [one.name for one in parameters_of(stage)]) or f"its input {place}"


def _name(place: Place, names: Sequence[str]) -> str:
    return place if isinstance(place, str) else names[place] if place < len(names) else ""


def is_complex(stage: Stage, array: Any) -> bool:
    """Return whether an array is of complex numbers, as a table of rotations is."""
    return "complex" in stage.framework.dtype_name(array)


def is_sequence(stage: Stage, array: Any) -> bool:
    """Return whether an array may be a batch of sequences, or one: of tokens, of vectors, or of an image."""
    if is_complex(stage, array):
        return False
    values = stage.framework.to_numpy(array)
    ranks = (1, 2) if values.dtype.kind in "iu" else (2, 3, 4) if values.dtype.kind == "f" else ()
    return values.ndim in ranks
