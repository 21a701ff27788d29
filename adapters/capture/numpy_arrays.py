"""Arrays of NumPy that record what is computed from them, by the protocols that NumPy has for other arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
from veriformer.adapters.capture.numpy_contractions import Contraction, contraction_of, in_pairs
from veriformer.adapters.capture.recorder import Recorder
from veriformer.adapters.capture.trace import Kind, Origin
from veriformer.adapters.capture.weights import Array

_REARRANGEMENTS = frozenset(
    {
        *("reshape", "ravel", "transpose", "swapaxes", "moveaxis", "rollaxis", "concatenate", "stack", "hstack"),
        *("vstack", "dstack", "column_stack", "split", "array_split", "hsplit", "vsplit", "dsplit", "repeat", "tile"),
        *("broadcast_to", "broadcast_arrays", "expand_dims", "squeeze", "flip", "fliplr", "flipud", "roll", "rot90"),
        *("tril", "triu", "pad", "copy", "atleast_1d", "atleast_2d", "atleast_3d", "take_along_axis", "append"),
        *("insert", "permute_dims", "matrix_transpose", "unstack", "block", "copyto", "diagonal", "real", "imag"),
    }
)
# Frames of these packages are not the user's.
_LIBRARIES = ("numpy", "veriformer")


class Watched(np.ndarray[Any, np.dtype[Any]]):
    """An array whose use is recorded. Views and copies of it are watched too."""

    watch: Watch | None = None
    made_from: Watched | None = None

    def __array_finalize__(self, origin: Any) -> None:
        """Remember what a view or a copy was made from."""
        self.watch = getattr(origin, "watch", None)
        self.made_from = origin if isinstance(origin, Watched) else None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Compute an elementwise function, a reduction, or a product of matrices, and record it."""
        return _watch_in((*inputs, keywords)).ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call any other function of NumPy and record it."""
        return _watch_in((args, kwargs)).function(function, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Take a part, or rows of a table."""
        if self.watch is None or not (_is_rows(key) and self.ndim == 2):
            part = super().__getitem__(key)
            return part if self.watch is None or isinstance(part, Watched) else self.watch.part(self, part)
        return self.watch.rows(self, np.asarray(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write into the array, which has another value from then on."""
        if self.watch is None:
            super().__setitem__(key, value)
        else:
            self.watch.write(self, key, value)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Return the product that `np.dot` gives."""
        return np.dot(self, other, out=out)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        """Return what `np.take` gives."""
        return np.take(self, indices, axis=axis, out=out, mode=mode)


def _is_rows(key: Any) -> bool:
    """Return whether a key takes rows of a table by their numbers."""
    if isinstance(key, list | range):
        key = np.asarray(key)
    return isinstance(key, np.ndarray) and key.dtype.kind in "iu"


def _watch_in(tree: Any) -> Watch:
    return next(leaf.watch for leaf in _leaves(tree) if isinstance(leaf, Watched) and leaf.watch is not None)


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for value in tree.values():
            yield from _leaves(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _leaves(value)
    else:
        yield tree


def plain(tree: Any) -> Any:
    """Return arguments with arrays that record nothing."""
    if isinstance(tree, Mapping):
        return {name: plain(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(plain(value) for value in tree) if type(tree) in (list, tuple) else tree
    return tree.view(np.ndarray) if isinstance(tree, Watched) else tree


class Watch:
    """Records one pass. `path_of` gives the path of the module of which a frame runs a method, None for others."""

    def __init__(self, recorder: Recorder, path_of: Callable[[FrameType], str | None]) -> None:
        self.recorder = recorder
        self._path_of = path_of
        # An array is known by its identity; it is kept, so that no other one takes that.
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []
        self._seen: dict[int, int] = {}
        self._writes = 0
        self._written: int | None = None

    def enter(self, array: Array, origin: Origin, name: str, aliases: tuple[str, ...] = ()) -> Watched:
        """Return a watched array, as the model takes it."""
        watched = self._wrapped(array)
        self._keep(watched, self.recorder.add(array.copy(), origin, name, aliases))
        return watched

    def index_of(self, array: Any) -> int:
        """Return the index of an array's present content; what is not known yet is a constant, or a view."""
        known = self._known.get(id(array))
        if known is None:
            return self._new(array)
        if self._seen[id(array)] == self._writes:
            return known
        present = np.asarray(plain(array))
        if not np.array_equal(present, self._recorded(known), equal_nan=present.dtype.kind in "fc"):
            # Something was written into memory that it shares.
            operands = (known,) if self._written is None else (known, self._written)
            known = self._step("written through a view", Kind.REARRANGEMENT, operands, [present.copy()])[0]
        self._keep(array, known)
        return known

    def _recorded(self, index: int) -> Array:
        return self.recorder.values[index].array

    def _new(self, array: Any) -> int:
        origin = array.made_from if isinstance(array, Watched) else _base_of(array)
        if origin is not None:
            operand = self.index_of(origin)
            index = self._step("view", Kind.REARRANGEMENT, (operand,), [np.array(plain(array))])[0]
        else:
            index = self.recorder.add(np.array(plain(array)), "constant")
        self._keep(array, index)
        return index

    def _keep(self, array: Any, index: int) -> None:
        self._known[id(array)] = index
        self._seen[id(array)] = self._writes
        self._kept.append(array)

    def _wrapped(self, array: Any) -> Watched:
        watched = np.asarray(array).view(Watched)
        watched.watch = self
        watched.made_from = None
        return watched

    def _operands(self, tree: Any) -> tuple[int, ...]:
        """Return the indices of the arrays among arguments; numbers are no operands."""
        return tuple(self.index_of(leaf) for leaf in _leaves(tree) if isinstance(leaf, np.ndarray))

    def _step(
        self,
        operation: str,
        kind: Kind,
        operands: Sequence[int],
        results: Sequence[Array],
        attributes: Mapping[str, Any] | None = None,
    ) -> tuple[int, ...]:
        module, file, line = self._place()
        for result in results:
            self.recorder.computes_in(result.dtype)
        return self.recorder.step(
            operation, kind, operands, results, module=module, file=file, line=line, attributes=attributes or {}
        )

    def _place(self) -> tuple[str, str, int]:
        """Return module, file and line of the innermost frame that is the user's."""
        frame: FrameType | None = sys._getframe(2)
        place: tuple[str, int] | None = None
        while frame is not None:
            package = frame.f_globals.get("__name__", "").partition(".")[0]
            if package not in _LIBRARIES and not frame.f_code.co_filename.startswith("<"):
                place = place or (frame.f_code.co_filename, frame.f_lineno)
                path = self._path_of(frame)
                if path is not None:
                    return path, *place
            frame = frame.f_back
        return "", *(place or ("", 0))

    def _returned(self, returned: Any, operation: str, kind: Kind, operands: Sequence[int], **attributes: Any) -> Any:
        """Record a step with what it returned, and return that watched."""
        arrays = [np.asarray(leaf) for leaf in _leaves(returned) if isinstance(leaf, np.ndarray | np.generic)]
        indices = iter(self._step(operation, kind, operands, [array.copy() for array in arrays], attributes))

        def wrapped(tree: Any) -> Any:
            if isinstance(tree, list | tuple):
                return type(tree)(map(wrapped, tree)) if type(tree) in (list, tuple) else tuple(map(wrapped, tree))
            if not isinstance(tree, np.ndarray | np.generic):
                return tree
            watched = self._wrapped(tree)
            self._keep(watched, next(indices))
            return watched

        return wrapped(returned)

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Compute a ufunc, or one of its methods, and record it."""
        out = keywords.pop("out", None)
        if method == "__call__" and ufunc is np.matmul and out is None:
            return self._contracted(contraction_of("matmul", plain(inputs)), inputs, "matmul")
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        kind = Kind.ADDITION if name == "add" and len(self._arrays(inputs)) == 2 else Kind.OTHER
        operands = self._operands(inputs)
        targets = tuple(one for one in out or () if one is not None)
        given = {"out": plain(out)} if out is not None else {}
        returned = getattr(ufunc, method)(*plain(inputs), **plain(keywords), **given)
        if method == "at":
            return self._overwritten(inputs[0], name, operands)
        if not targets:
            return self._returned(returned, name, kind, operands)
        for target in targets:
            self._overwritten(target, name, operands, kind)
        return targets[0] if len(targets) == 1 else targets

    def _arrays(self, inputs: Sequence[Any]) -> list[Any]:
        return [one for one in inputs if isinstance(one, np.ndarray)]

    def function(self, function: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Call a function of NumPy and record it."""
        name = function.__name__
        if name == "einsum" and "out" not in keywords and (found := in_pairs(args)) is not None:
            return found
        contraction = contraction_of(name, plain(args), plain(dict(keywords)))
        if contraction is not None:
            return self._contracted(contraction, contraction.factors_among(args), name)
        if name == "take" and _takes_rows(args, keywords):
            return self.rows(args[0], np.asarray(args[1] if len(args) > 1 else keywords["indices"]))
        operands = self._operands((args, keywords))
        returned = function(*plain(args), **plain(dict(keywords)))
        kind = Kind.REARRANGEMENT if name in _REARRANGEMENTS else Kind.OTHER
        if name in ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"):
            return self._overwritten(args[0], name, operands, kind)
        return self._returned(returned, name, kind, operands)

    def _contracted(self, contraction: Contraction | None, inputs: Sequence[Any], name: str) -> Any:
        """Record a product as a sum over axes, with what spreads and turns its factors and its result."""
        if contraction is None:
            raise TypeError(f"{name} takes two arrays")
        operands = [self.index_of(one) for one in inputs]
        for place, (before, after) in enumerate(zip(plain(tuple(inputs)), contraction.factors, strict=True)):
            if before.shape != after.shape:
                (operands[place],) = self._step("broadcast", Kind.REARRANGEMENT, (operands[place],), [after])
        axes = {"factors": (0, 1), "contracted": contraction.contracted, "parallel": contraction.parallel}
        product = self._returned(contraction.product, name, Kind.CONTRACTION, operands, **axes)
        if contraction.order is None:
            return product
        turned = plain(product).transpose(contraction.order)
        return self._returned(turned, "transpose", Kind.REARRANGEMENT, (self.index_of(product),))

    def rows(self, table: Watched, numbers: Array) -> Any:
        """Return rows of a table."""
        operands = (self.index_of(table), self.index_of(numbers))
        return self._returned(np.asarray(plain(table)[plain(numbers)]), "rows", Kind.LOOKUP, operands)

    def part(self, whole: Watched, part: Any) -> Any:
        """Return a single number that was taken out of an array."""
        return self._returned(np.asarray(part), "item", Kind.REARRANGEMENT, (self.index_of(whole),))

    def write(self, array: Watched, key: Any, value: Any) -> None:
        """Write into an array."""
        operands = (self.index_of(array), *self._operands((value,)))
        np.ndarray.__setitem__(array.view(np.ndarray), plain(key), plain(value))
        self._overwritten(array, "written", operands, Kind.REARRANGEMENT)

    def _overwritten(self, array: Any, name: str, operands: Sequence[int], kind: Kind = Kind.OTHER) -> None:
        """Record that an array has another content now, and so what shares its memory."""
        (index,) = self._step(name, kind, operands, [np.array(plain(array))])
        self._writes += 1
        self._written = index
        self._keep(array, index)


def _takes_rows(args: tuple[Any, ...], keywords: Mapping[str, Any]) -> bool:
    axis = args[2] if len(args) > 2 else keywords.get("axis")
    return axis == 0 and isinstance(args[0], Watched) and args[0].ndim == 2 and set(keywords) <= {"axis", "indices"}


def _base_of(array: Any) -> Watched | None:
    """Return the watched array that a plain one is a view of, as `np.asarray` makes it."""
    base = getattr(array, "base", None)
    while base is not None and not isinstance(base, Watched):
        base = getattr(base, "base", None)
    return base


@contextmanager
def constructors_keep_watched() -> Iterator[None]:
    """Let `np.array`, `np.asarray` and the like return watched arrays for what holds some, which they do not by
    themselves; and `np.empty` zeros, because memory may hold what an earlier pass has left there, and a write that
    changes no number is not seen.
    """
    names = ("array", "asarray", "asanyarray", "ascontiguousarray")
    changed = {name: _keeping(getattr(np, name), np.array) for name in names}
    changed |= {"empty": np.zeros, "empty_like": np.zeros_like}
    original = {name: getattr(np, name) for name in changed}
    try:
        for name, function in changed.items():
            setattr(np, name, function)
        yield
    finally:
        for name, function in original.items():
            setattr(np, name, function)


def _keeping(function: Any, make: Any) -> Callable[..., Any]:
    def constructor(given: Any, *args: Any, **keywords: Any) -> Any:
        if not any(isinstance(leaf, Watched) for leaf in _leaves((given,))):
            return function(given, *args, **keywords)
        dtype = args[0] if args else keywords.get("dtype")
        if isinstance(given, Watched):
            return given.astype(dtype) if dtype is not None else given.copy() if function is make else given
        stacked = np.stack([constructor(one) for one in given])
        return stacked if dtype is None else stacked.astype(dtype)

    return constructor
