"""Rotations that are given tables, where the same file has the function or class that makes them: judged together.

A function that scales its frequencies makes other tables by design: only one that does not, and that takes the base, is
held to right ones.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import special
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded, is_called
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.places import FARTHEST
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS

_WIDTHS = frozenset(
    """
    dim headdim d nelem dimhead rotdim rotarydim rotarydims dhead headsize ropedim ropedims headdims hd width dk
    """.split()  # noqa: SIM905
)
_LENGTHS = frozenset(
    "end seqlen maxlen length n l maxseqlen maxpositionembeddings maxpos ctx contextlength seqlength maxlength "  # noqa: SIM905
    "blocksize numpositions maxpositions nctx maxsequencelength numpos".split()
)
_VECTORS = frozenset("x v value values hiddenstates inputs q query k key".split())  # noqa: SIM905
_CALLS = ("forward", "__call__", "call")
_SCALES = re.compile(
    r"scal|factor|yarn|ntk|alpha|interpol|extend|original_max|smooth|partial|2d|3d|axial|vision|section|mrope",
    re.IGNORECASE,
)
_RECORD = OPERATIONS["rotary_embedding"]
_KEPT, _SHORTEST = 256, 16


def with_tables_of_file(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a rotation with the tables that its own file makes; the form itself where it makes none."""
    if form.operation != "rotary_embedding" or not special.takes_tables(found):
        return form
    wrong = None
    for name, make, has_base, scales in _makers(trials):
        for given in special.by_given_tables(form, make, trials.framework):
            result = trials.result(given, probe)
            if result is None or result.shape != probe.expected.shape:
                continue
            if is_near(result, probe.expected):
                return _made_by(name, form, given, has_base=has_base)
            if wrong is None and has_base and not scales:
                wrong = _made_by(name, form, given, has_base=True)
    # A file may make tables of several kinds: those that fit are its own.
    return wrong or form


def _made_by(name: str, form: Form, given: Form, *, has_base: bool) -> Form:
    features = given.features if has_base else tuple(one for one in given.features if one != "base")
    words = (*form.words, f"made by `{name}`")
    return replace(given, features=features, words=words, judged_with=(*form.judged_with, name))


def _makers(trials: Trials) -> Iterator[tuple[str, special.TableOf, bool, bool]]:
    """Yield what makes tables of a width and a length in the same file, with what is known of each."""
    function = inspect.unwrap(trials.function)
    module = getattr(function, "__module__", None)
    for name, one in list(getattr(function, "__globals__", {}).items()):
        if getattr(one, "__module__", None) != module or one is function:
            continue
        if inspect.isfunction(one) and (names := _roles(one)) is not None:
            yield name, _table_of(partial(_returned, one, names), trials), "base" in names, _scales(name, one)
        elif inspect.isclass(one) and (both := _roles_of_class(one)) is not None:
            make = partial(_of_object, one, *both, trials.framework)
            yield name, _table_of(make, trials), "base" in both[0], _scales(name, one)


def _returned(function: Callable[..., Any], names: Mapping[str, str], values: Mapping[str, Any]) -> Any:
    return function(**{name: values[role] for role, name in names.items()})


def _of_object(
    kind: type, built: Mapping[str, str], called: Mapping[str, str], arrays: ArrayFramework, values: Mapping[str, Any]
) -> Any:
    """Return the tables that an object makes when it is called, of one sample where it takes positions of samples."""
    made = kind(**{name: values[role] for role, name in built.items()})
    given = dict(values)
    if "vectors" in called:
        # The axis of positions is the second or the third, whichever an object asks; their numbers are not read.
        given["vectors"] = arrays.from_numpy(np.zeros((1, values["length"], values["length"], 1)), "float32")
    try:
        return _returned(made, called, given)
    except (IndexError, RuntimeError, TypeError, ValueError):
        if "positions" not in called:
            raise
        return _returned(made, called, {**given, "positions": given["positions"][None]})


def _roles_of_class(kind: type) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return the parameters that a class is built with and those that its object is called with; None for others."""
    call = next((getattr(kind, name) for name in _CALLS if name in vars(kind)), None)
    built = _known(kind) if "__init__" in vars(kind) else None
    if call is None or built is None or "width" not in built:
        return None
    parameters = list(inspect.signature(call).parameters.values())[1:]
    called: dict[str, str] = {}
    for one in parameters:
        is_known = folded(one.name) in _LENGTHS or is_called(one.name, _RECORD.parameter("positions"))
        if folded(one.name) in _VECTORS and "vectors" not in called:
            called["vectors"] = one.name
        elif is_known and not {"length", "positions"} & called.keys():
            called["length" if folded(one.name) in _LENGTHS else "positions"] = one.name
        elif one.default is one.empty:
            return None
    return (built, called) if called else None


def _scales(name: str, function: Callable[..., Any]) -> bool:
    """Return whether a function or class scales its frequencies when it is called without further arguments."""
    if _SCALES.search(name):
        return True
    switches = [one for one in inspect.signature(function).parameters.values() if _SCALES.search(one.name)]
    if any(one.default in (False, None, 1) for one in switches):
        return False
    return bool(_SCALES.search(source_of(function) or ""))


def _roles(function: Callable[..., Any]) -> dict[str, str] | None:
    """Return which parameter is the width, the length or the positions, and the base; None where others are needed."""
    known = _known(function)
    return known if known and "width" in known and {"length", "positions"} & known.keys() else None


def _known(function: Callable[..., Any]) -> dict[str, str] | None:
    """Return the parameters whose names tell what they are, by that; None where others are needed."""
    known: dict[str, str] = {}
    for one in inspect.signature(function).parameters.values():
        called = folded(one.name)
        kinds = {
            "width": called in _WIDTHS,
            "length": called in _LENGTHS,
            **{name: is_called(one.name, _RECORD.parameter(name)) for name in ("positions", "base")},
        }
        role = next((kind for kind, fits in kinds.items() if fits and kind not in known), None)
        if role is not None:
            known[role] = one.name
        elif one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            return None
    return known


def _table_of(make: Callable[[Mapping[str, Any]], Any], trials: Trials) -> special.TableOf:
    arrays = trials.framework

    @lru_cache(maxsize=_KEPT)
    def made(width: int, length: int, base: float) -> list[np.ndarray]:
        values = {"width": width, "length": length, "base": base, "positions": arrays.from_numpy(np.arange(length))}
        found = make(values)
        whole = [_as_numpy(one) for one in (found if isinstance(found, tuple | list) else (found,))]
        return [one.reshape(length, one.size // length) for one in whole if one.size % length == 0]

    def tables(arguments: Arguments) -> list[np.ndarray]:
        """Return the tables of all positions up to the last of a call, and of some more."""
        positions = arrays.to_numpy(arguments["positions"])
        if positions.size and (positions.max() > FARTHEST or positions.min() < 0):
            raise ValueError(f"positions are places in a table here, at most {FARTHEST}")
        # Few lengths: a function that is compiled is compiled for each.
        length = max(_SHORTEST, 1 << int(positions.max(initial=0)).bit_length())
        return made(shape_of(arguments["x"])[-1], length, float(arguments.get("base", 10000.0)))

    return tables


def _as_numpy(array: Any) -> np.ndarray:
    return np.asarray(array.detach()) if hasattr(array, "detach") else np.asarray(array)
