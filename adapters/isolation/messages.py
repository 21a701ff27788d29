"""Arrays, results and errors as replies, which are checked when they are read."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from veriformer.adapters.errors import (
    AdapterError,
    CaptureError,
    DifferentiationRefused,
    ForeignException,
    LoadError,
    MissingFramework,
    NoOperations,
    NotAModel,
    NotDifferentiable,
    OperationRaised,
    StateCorrupted,
    UnsupportedDtype,
    WrongFramework,
    describe,
)
from veriformer.adapters.isolation.frames import LONGEST_PAYLOAD, Frame, MalformedFrame
from veriformer.adapters.results import Result, Shape

_DTYPES = {"float64": np.float64, "bool": np.uint8, "int64": np.int64}
# NumPy's own limit.
_HIGHEST_RANK = 64
_LONGEST_TEXT = 20_000
_PLAIN = (
    *(LoadError, NoOperations, NotAModel, CaptureError),
    *(UnsupportedDtype, NotDifferentiable, DifferentiationRefused, WrongFramework),
)


def of_results(results: Sequence[Result]) -> Frame:
    """Return the reply with results, without their opaque parts; AdapterError when they are too large."""
    if (size := sum(result.value.nbytes for result in results)) > LONGEST_PAYLOAD:
        raise AdapterError(f"the result takes {size:,} bytes; a reply has at most {LONGEST_PAYLOAD:,}")
    described = [
        {**_described(result.value), "of": result.dtype, "shapes": [list(shape) for shape in result.shapes]}
        for result in results
    ]
    return Frame({"results": described}, b"".join(result.value.tobytes() for result in results))


def of_arrays(arrays: Mapping[str, np.ndarray]) -> Frame:
    """Return the reply with arrays by name."""
    described = [{"name": name, **_described(array)} for name, array in arrays.items()]
    return Frame({"arrays": described}, b"".join(array.tobytes() for array in arrays.values()))


def of_error(error: BaseException) -> Frame:
    """Return the reply with an error."""
    original = error.original if isinstance(error, OperationRaised) else error.__cause__ or error
    parts: dict[str, Any] = {
        "kind": type(error).__name__,
        "sentence": str(error) if isinstance(error, AdapterError) else describe(error),
        "cause": describe(original),
        "traceback": _traceback(original),
    }
    if isinstance(error, StateCorrupted):
        parts["what"] = error.what
    if isinstance(error, MissingFramework):
        parts["framework"] = error.name
    return Frame({"error": parts})


def of_shortage(error: BaseException) -> Frame:
    """Return the reply with an error that was caused by a shortage of memory."""
    parts = of_error(error).header["error"]
    return Frame({"error": {**parts, "memory": True}})


def is_of_shortage(frame: Frame) -> bool:
    """Return whether the error in a reply was caused by a shortage of memory."""
    parts = frame.header.get("error")
    return isinstance(parts, dict) and parts.get("memory") is True


def raised_words(frame: Frame) -> str:
    """Return the predicate of a sentence about the operation; MalformedFrame if the reply has no exception."""
    return f"raised {_text(frame.header['error'], 'cause')}"


def results_in(frame: Frame, number: int) -> list[Result]:
    """Return the results of a reply; MalformedFrame if their number or their contents are not as described."""
    described = _list(frame.header, "results")
    if len(described) != number:
        raise MalformedFrame(f"it has {len(described)} results instead of {number}")
    values = _arrays(described, frame.payload)
    return [_result(value, one) for value, one in zip(values, described, strict=True)]


def arrays_in(frame: Frame) -> dict[str, np.ndarray]:
    """Return the arrays of a reply by name; MalformedFrame if their contents are not as described."""
    described = _list(frame.header, "arrays")
    return dict(zip((_text(one, "name") for one in described), _arrays(described, frame.payload), strict=True))


def error_in(frame: Frame, operation: str) -> AdapterError | None:
    """Return the error in a reply, None if it has none; MalformedFrame if it is incomplete."""
    if "error" not in frame.header:
        return None
    parts = frame.header["error"]
    if not isinstance(parts, dict):
        raise MalformedFrame("its error is not an object")
    error = _error(parts, operation)
    error.__cause__ = ForeignException(_text(parts, "cause"), _text(parts, "traceback"))
    if not isinstance(error, OperationRaised | StateCorrupted):
        error.elsewhere = _text(parts, "traceback")
    return error


def visible(text: str) -> str:
    """Return a text with control characters and unprintable characters escaped."""
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text[:_LONGEST_TEXT])


def _error(parts: dict[str, Any], operation: str) -> AdapterError:
    kind, sentence = _text(parts, "kind"), _text(parts, "sentence")
    if kind == "OperationRaised":
        return OperationRaised(operation, ForeignException(_text(parts, "cause"), _text(parts, "traceback")))
    if kind == "MissingFramework":
        return MissingFramework(_text(parts, "framework"))
    for plain in _PLAIN:
        if kind == plain.__name__:
            return plain(sentence)
    if kind == "StateCorrupted":
        return StateCorrupted(operation, _text(parts, "what"))
    if kind == "UnjudgeableResult":
        return AdapterError(sentence)
    return AdapterError(f"{operation} could not be called in a process of its own: {sentence}")


def _traceback(error: BaseException) -> str:
    # Formatting an exception may call code of the implementation.
    try:
        return "".join(traceback.format_exception(error))[-_LONGEST_TEXT:]
    except Exception:
        return ""


def _described(array: np.ndarray) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": list(array.shape)}


def _arrays(described: Iterable[dict[str, Any]], payload: bytes) -> list[np.ndarray]:
    arrays, start = [], 0
    for one in described:
        name, shape = _text(one, "dtype"), _shape(one.get("shape"))
        if name not in _DTYPES:
            raise MalformedFrame(f"an array has the dtype {name}")
        dtype = np.dtype(_DTYPES[name])
        end = start + math.prod(shape) * dtype.itemsize
        if end > len(payload):
            raise MalformedFrame("its arrays are longer than it is")
        try:
            array = np.frombuffer(payload[start:end], dtype).reshape(shape)
        except (ValueError, OverflowError) as error:
            # An axis of length 0 hides the lengths of the others.
            raise MalformedFrame("an array has a shape that none can have") from error
        # An array of truth values must not keep bytes other than 0 and 1.
        arrays.append(np.asarray(array != 0) if name == "bool" else array.copy())
        start = end
    if start != len(payload):
        raise MalformedFrame("its arrays are shorter than it is")
    return arrays


def _result(value: np.ndarray, described: dict[str, Any]) -> Result:
    shapes = tuple(map(_shape, _list(described, "shapes", dict_items=False)))
    if not _fit(tuple(value.shape), shapes):
        raise MalformedFrame(f"its shapes {shapes} are not those of its values {value.shape}")
    return Result(value, _text(described, "of"), shapes)


def _fit(whole: Shape, shapes: tuple[Shape, ...]) -> bool:
    """Return whether values have the shapes of their parts: a single one, concatenated flat, or along the tokens."""
    if len(shapes) == 1 and whole == shapes[0]:
        return True
    if len(whole) == 1:
        return whole[0] == sum(map(math.prod, shapes))
    together = len(whole) == 3 and all(len(shape) == 3 for shape in shapes)
    return together and whole == (shapes[0][0], sum(shape[1] for shape in shapes), shapes[0][2])


def _shape(received: object) -> Shape:
    if not isinstance(received, list) or len(received) > _HIGHEST_RANK:
        raise MalformedFrame("a shape is not a list")
    if any(type(length) is not int or length < 0 for length in received):
        raise MalformedFrame("a length is not a number")
    return tuple(received)


def _list(header: dict[str, Any], name: str, *, dict_items: bool = True) -> list[Any]:
    received = header.get(name)
    if not isinstance(received, list) or (dict_items and not all(isinstance(one, dict) for one in received)):
        raise MalformedFrame(f"its {name} are not a list")
    return received


def _text(header: dict[str, Any], name: str) -> str:
    received = header.get(name)
    if not isinstance(received, str):
        raise MalformedFrame(f"its {name} is not a text")
    return visible(received)
