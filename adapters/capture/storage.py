"""A trace in a file, and back: an uncompressed archive of .npy arrays and one JSON text, never a pickle.

A file whose name ends in .safetensors is one of those instead, with the same arrays and the same text.
The file may come from a process that runs a user's code, so everything in it is checked when it is read.
Arrays that share memory, such as a weight and its transpose, are stored once. An array of float64 whose numbers are all
float32 is stored as float32.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, get_args

import numpy as np
from veriformer.adapters.capture.tensor_files import SUFFIX, DamagedFile, TensorFile, write_tensors
from veriformer.adapters.capture.trace import Kind, Origin, Step, Trace, Value
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.errors import CaptureError
from veriformer.adapters.isolation.messages import visible

_FORMAT = 1
_TRACE = "trace.json"
_DTYPES = ("float64", "int64", "bool")
# Stored only, in place of float64.
_NARROW = "float32"
_LONGEST_JSON = 2**28
# Views may repeat elements, so that the size of the file does not limit theirs.
_MOST_ELEMENTS = 2**31
_HIGHEST_RANK = 64
_PIECE = 2**22


class DamagedTrace(CaptureError):
    """A file is no trace, or not a whole one."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"the record of the model in {path.name} is damaged: {why}; record the model again")


class _Damage(Exception):
    """What is wrong with a file."""


# --- writing ----------------------------------------------------------------------------------------------------------


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace to a file, of the kind that its name says."""
    arrays = [value.array for value in trace.values]
    stored, views = _without_copies(arrays)
    text = json.dumps(_described(trace, views))
    if path.suffix == SUFFIX:
        write_tensors(path, [_narrowed(array) for array in stored], text)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(_TRACE, text)
        for number, array in enumerate(stored):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, _narrowed(array), allow_pickle=False)


@dataclass(frozen=True)
class _View:
    """An array as a part of a stored one: by its first element and strides, counted in elements."""

    stored: int
    shape: tuple[int, ...]
    offset: int = 0
    strides: tuple[int, ...] | None = None


def _without_copies(arrays: Sequence[Array]) -> tuple[list[Array], list[_View]]:
    """Return the arrays to store, and each array as a view of one of them."""
    stored: list[Array] = []
    views: dict[int, _View] = {}
    for group in sorted(_sharing_memory(arrays), key=min):
        whole = next((arrays[place] for place in group if _is_whole(arrays[place], group, arrays)), None)
        if whole is None or len(group) == 1:
            for place in group:
                views[place] = _View(len(stored), arrays[place].shape)
                stored.append(arrays[place])
            continue
        for place in group:
            views[place] = _view(arrays[place], whole, len(stored))
        stored.append(_in_memory_order(whole).reshape(-1))
    return stored, [views[place] for place in range(len(arrays))]


def _bounds(array: Array) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(array)


def _sharing_memory(arrays: Sequence[Array]) -> Iterator[list[int]]:
    """Yield groups of arrays whose places in memory overlap."""
    group: list[int] = []
    end = -1
    for place in sorted(range(len(arrays)), key=lambda place: _bounds(arrays[place])[0]):
        low, high = _bounds(arrays[place])
        if group and (low >= end or not arrays[place].size):
            yield group
            group, end = [], -1
        group.append(place)
        end = max(end, high)
    if group:
        yield group


def _is_whole(array: Array, group: Sequence[int], arrays: Sequence[Array]) -> bool:
    """Return whether an array fills the memory of its group without gaps, and all have its dtype."""
    low, high = _bounds(array)
    inside = all(
        arrays[place].dtype == array.dtype and low <= _bounds(arrays[place])[0] and _bounds(arrays[place])[1] <= high
        for place in group
    )
    return inside and _in_memory_order(array).flags.c_contiguous


def _in_memory_order(array: Array) -> Array:
    """Return an array with its axes sorted, that of the largest steps in memory first."""
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def _view(array: Array, whole: Array, stored: int) -> _View:
    size = whole.itemsize
    offset = array.__array_interface__["data"][0] - _bounds(whole)[0]
    return _View(stored, array.shape, offset // size, tuple(stride // size for stride in array.strides))


def _narrowed(array: Array) -> Array:
    """Return an array of float64 as float32 if that loses nothing."""
    if array.dtype != np.float64:
        return array
    flat = array.reshape(-1)
    # Most arrays are told by their beginning, and none is copied as a whole in vain.
    for start in (0, *range(1024, flat.size, _PIECE)):
        piece = flat[start : 1024 if start == 0 else start + _PIECE]
        with np.errstate(over="ignore", under="ignore"):
            narrow = piece.astype(np.float32)
        if not np.array_equal(narrow.astype(np.float64), piece, equal_nan=True):
            return array
    return array.astype(np.float32)


def _described(trace: Trace, views: Sequence[_View]) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "framework": trace.framework,
        "dtype": trace.dtype,
        "values": [
            [value.origin, value.name, list(value.aliases), str(value.array.dtype), *_view_described(view)]
            for value, view in zip(trace.values, views, strict=True)
        ],
        "steps": [
            [
                *(step.operation, str(step.kind), list(step.operands), list(step.results)),
                *(step.module, step.file, step.line, {name: _plain(one) for name, one in step.attributes.items()}),
            ]
            for step in trace.steps
        ],
        "inputs": list(trace.inputs),
        "outputs": list(trace.outputs),
        "modules": dict(trace.modules),
        "opaque": dict(trace.opaque),
        "notes": list(trace.notes),
        "left_out": list(trace.left_out),
        "configuration": dict(trace.configuration),
    }


def _view_described(view: _View) -> tuple[Any, ...]:
    return view.stored, list(view.shape), view.offset, None if view.strides is None else list(view.strides)


def _plain(value: Any) -> Any:
    """Return an attribute of a step as JSON has it."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a step has an attribute that is a {type(value).__name__}; only plain values are stored")


# --- reading ----------------------------------------------------------------------------------------------------------


def read_trace(path: Path) -> Trace:
    """Return the trace in a file; DamagedTrace, a CaptureError, where the file is not a whole trace."""
    try:
        if path.suffix == SUFFIX:
            file = TensorFile(path)
            return _trace(_parsed(file.text()), lambda number: _of_tensor(file, number))
        with zipfile.ZipFile(path) as archive:
            text = _content(archive, _TRACE, _LONGEST_JSON)
            return _trace(_parsed(text), lambda number: _array(archive, f"{number}.npy"))
    except (_Damage, DamagedFile) as error:
        raise DamagedTrace(path, str(error)) from error
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise DamagedTrace(path, f"it is not a readable archive ({str(error) or type(error).__name__})") from error


def _trace(parts: dict[str, Any], load: Callable[[int], Array]) -> Trace:
    """Return the trace that a text describes; `load` returns a stored array by its number."""
    if parts.get("format") != _FORMAT:
        raise _Damage(f"its format is {parts.get('format')!r}, not {_FORMAT}")
    values = _values(load, _list(parts, "values"))
    steps = tuple(_step(one, len(values)) for one in _list(parts, "steps"))
    _refuse_disorder(values, steps)
    return Trace(
        framework=_text(parts.get("framework")),
        dtype=_text(parts.get("dtype")),
        values=values,
        steps=steps,
        inputs=_indices(parts.get("inputs"), len(values)),
        outputs=_indices(parts.get("outputs"), len(values)),
        modules=_texts_by_name(parts.get("modules")),
        opaque=_texts_by_name(parts.get("opaque")),
        notes=tuple(_text(one) for one in _list(parts, "notes")),
        # Records of earlier versions lack it.
        left_out=tuple(_text(one) for one in _list(parts, "left_out")) if "left_out" in parts else (),
        configuration=_configuration(parts.get("configuration", {})),
    )


def _configuration(received: Any) -> dict[str, bool | int | float | str]:
    if not isinstance(received, dict) or not all(
        isinstance(one, bool | int | float | str) for one in received.values()
    ):
        raise _Damage("its configuration is no table of plain values")
    return dict(received)


def _parsed(text: bytes | str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Damage(f"{_TRACE} is not JSON") from error
    if not isinstance(parsed, dict):
        raise _Damage(f"{_TRACE} is not an object")
    return parsed


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the entry of a file in the archive, which must be as long as it says: not compressed."""
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise _Damage(f"{name} is missing") from None
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise _Damage(f"{name} is compressed")
    return member


def _content(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    member = _member(archive, name)
    if member.file_size > most:
        raise _Damage(f"{name} is too long")
    return archive.read(member)


def _values(load: Callable[[int], Array], described: list[Any]) -> tuple[Value, ...]:
    stored: dict[int, Array] = {}
    values = []
    for one in described:
        origin, name, aliases, dtype, number, shape, offset, strides = _parts(one, 8)
        if origin not in get_args(Origin) or dtype not in _DTYPES:
            raise _Damage(f"a value has the origin {origin!r} and the dtype {dtype!r}")
        if _number(number) not in stored:
            stored[number] = load(number)
        array = _seen(stored[number], dtype, _numbers(shape), offset, strides)
        values.append(Value(array, origin, _text(name), tuple(_text(alias) for alias in _sequence(aliases))))
    return tuple(values)


def _of_tensor(file: TensorFile, number: int) -> Array:
    """Return an array of a safetensors file, float32 as float64."""
    array = file.array(number)
    if array.dtype.name not in (*_DTYPES, _NARROW):
        raise _Damage(f"the array {number} has the dtype {array.dtype}")
    return array.astype(np.float64) if array.dtype.name == _NARROW else array


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """Return an array of the archive, float32 as float64."""
    member = _member(archive, name)
    with archive.open(member) as file:
        shape, column_major, dtype = _header(file, name)
        if dtype.name not in (*_DTYPES, _NARROW) or not dtype.isnative:
            raise _Damage(f"{name} has the dtype {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if file.tell() + size != member.file_size:
            raise _Damage(f"{name} is not as long as its shape {shape}")
        flat = np.empty(math.prod(shape), dtype)
        _fill(file, flat, name)
    wide = flat.astype(np.float64, copy=False) if dtype.name == _NARROW else flat
    if dtype.name == "bool" and (wide.view(np.uint8) > 1).any():
        raise _Damage(f"{name} has truth values other than 0 and 1")
    return wide.reshape(shape, order="F" if column_major else "C")


def _header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise _Damage(f"{name} has another version of the format of arrays")
        shape, column_major, dtype = np.lib.format.read_array_header_1_0(file)
    except (ValueError, TypeError) as error:
        raise _Damage(f"{name} has no header of an array") from error
    if len(shape) > _HIGHEST_RANK or any(size < 0 for size in shape):
        raise _Damage(f"{name} has the shape {shape}")
    return shape, column_major, dtype


def _fill(file: IO[bytes], flat: Array, name: str) -> None:
    memory = memoryview(flat.view(np.uint8).data)
    done = 0
    while done < len(memory):
        # Once for a piece, as read() would need the memory of the whole a second time.
        count = file.readinto(memory[done : done + _PIECE])  # type: ignore[attr-defined]
        if not count:
            raise _Damage(f"{name} ends too early")
        done += count


def _seen(stored: Array, dtype: str, shape: tuple[int, ...], offset: Any, strides: Any) -> Array:
    """Return a stored array, or the part of it that has this shape, offset and strides, if it is inside."""
    if stored.dtype.name != dtype:
        raise _Damage(f"a value of {dtype} is stored as {stored.dtype.name}")
    if strides is None:
        if shape != stored.shape:
            raise _Damage(f"a value of shape {shape} is stored as {stored.shape}")
        return stored
    steps = tuple(one if type(one) is int else _number(one) for one in _sequence(strides))
    start = _number(offset)
    if len(shape) != len(steps) or len(shape) > _HIGHEST_RANK or math.prod(shape) > _MOST_ELEMENTS or stored.ndim != 1:
        raise _Damage(f"a value has the shape {shape} and the strides {steps}")
    last = [step * (size - 1) for step, size in zip(steps, shape, strict=True) if size > 1]
    low, high = start + sum(min(one, 0) for one in last), start + sum(max(one, 0) for one in last)
    if math.prod(shape) and not 0 <= low <= high < stored.size:
        raise _Damage("a value reaches beyond its stored array")
    if not math.prod(shape):
        return np.empty(shape, stored.dtype)
    return np.lib.stride_tricks.as_strided(stored[start:], shape, [step * stored.itemsize for step in steps])


def _step(one: Any, most: int) -> Step:
    operation, kind, operands, results, module, file, line, attributes = _parts(one, 8)
    if kind not in set(Kind):
        raise _Damage(f"a step has the kind {kind!r}")
    if not isinstance(attributes, dict):
        raise _Damage("the attributes of a step are not an object")
    return Step(
        operation=_text(operation),
        kind=Kind(kind),
        operands=_indices(operands, most),
        results=_indices(results, most),
        module=_text(module),
        file=_text(file),
        line=_number(line),
        attributes=MappingProxyType({_text(name): _attribute(value) for name, value in attributes.items()}),
    )


def _attribute(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_attribute(one) for one in value)
    if isinstance(value, dict):
        raise _Damage("an attribute of a step is an object")
    return _text(value) if isinstance(value, str) else value


def _refuse_disorder(values: Sequence[Value], steps: Sequence[Step]) -> None:
    """Require that each step reads what there was before, and that some step made what is said to be of one."""
    made = [value.origin != "step" for value in values]
    for step in steps:
        if not all(made[one] for one in step.operands):
            raise _Damage("a step reads a value that was not made yet")
        for one in step.results:
            made[one] = True
    if not all(made):
        raise _Damage("a value was made by no step")


def _list(parts: Mapping[str, Any], name: str) -> list[Any]:
    received = parts.get(name)
    if not isinstance(received, list):
        raise _Damage(f"its {name} are not a list")
    return received


def _parts(received: Any, number: int) -> list[Any]:
    if not isinstance(received, list) or len(received) != number:
        raise _Damage("an entry of it is incomplete")
    return received


def _sequence(received: Any) -> list[Any]:
    if not isinstance(received, list):
        raise _Damage(f"it has a {type(received).__name__} in place of a list")
    return received


def _number(received: Any) -> int:
    # The type itself: in Python, True is a number too.
    if type(received) is not int or received < 0:
        raise _Damage(f"it has {received!r} in place of a number")
    return received


def _numbers(received: Any) -> tuple[int, ...]:
    return tuple(_number(one) for one in _sequence(received))


def _indices(received: Any, most: int) -> tuple[int, ...]:
    indices = _numbers(received)
    if any(one >= most for one in indices):
        raise _Damage("it names a value that is not there")
    return indices


def _text(received: Any) -> str:
    if not isinstance(received, str):
        raise _Damage(f"it has a {type(received).__name__} in place of a text")
    return visible(received)


def _texts_by_name(received: Any) -> Mapping[str, str]:
    if not isinstance(received, dict):
        raise _Damage(f"it has a {type(received).__name__} in place of an object")
    return MappingProxyType({_text(name): _text(value) for name, value in received.items()})
