"""Rotations that are given tables, where the same file has the function that makes them: both are judged together.

A function that scales its frequencies makes other tables by design: only one that does not, and that takes the base, is
held to right ones.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
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

_WIDTHS = frozenset("dim headdim d nelem dimhead rotarydim dhead headsize ropedim headdims hd width dk".split())  # noqa: SIM905
_LENGTHS = frozenset(
    "end seqlen maxlen length n l maxseqlen maxpositionembeddings maxpos ctx contextlength seqlength maxlength "  # noqa: SIM905
    "blocksize numpositions maxpositions nctx maxsequencelength numpos".split()
)
_SCALES = re.compile(r"scal|factor|yarn|ntk|alpha|interpol|extend|original_max|smooth|partial", re.IGNORECASE)
_RECORD = OPERATIONS["rotary_embedding"]
_KEPT, _SHORTEST = 256, 16


def with_tables_of_file(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a rotation with the tables that its own file makes; the form itself where it makes none."""
    if form.operation != "rotary_embedding" or not special.takes_tables(found):
        return form
    for name, make, has_base, scales in _makers(trials):
        for given in special.by_given_tables(form, make, trials.framework):
            result = trials.result(given, probe)
            if result is None or result.shape != probe.expected.shape:
                continue
            is_right = is_near(result, probe.expected)
            if is_right or (has_base and not scales):
                features = given.features if has_base else tuple(one for one in given.features if one != "base")
                return replace(
                    given,
                    features=features,
                    words=(*form.words, f"made by `{name}`"),
                    judged_with=(*form.judged_with, name),
                )
    return form


def _makers(trials: Trials) -> Iterator[tuple[str, special.TableOf, bool, bool]]:
    """Yield the functions of the same file that make tables of a width and a length, with what is known of each."""
    function = inspect.unwrap(trials.function)
    module = getattr(function, "__module__", None)
    for name, one in list(getattr(function, "__globals__", {}).items()):
        if not inspect.isfunction(one) or one.__module__ != module or one is function:
            continue
        names = _roles(one)
        if names is not None:
            yield name, _table_of(one, names, trials), "base" in names, _scales(name, one)


def _scales(name: str, function: Callable[..., Any]) -> bool:
    """Return whether a function scales its frequencies when it is called without further arguments."""
    if _SCALES.search(name):
        return True
    switches = [one for one in inspect.signature(function).parameters.values() if _SCALES.search(one.name)]
    if any(one.default is False or one.default is None for one in switches):
        return False
    return bool(_SCALES.search(source_of(function) or ""))


def _roles(function: Callable[..., Any]) -> dict[str, str] | None:
    """Return which parameter is the width, the length or the positions, and the base; None where others are needed."""
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
    return known if "width" in known and {"length", "positions"} & known.keys() else None


def _table_of(function: Callable[..., Any], names: dict[str, str], trials: Trials) -> special.TableOf:
    arrays = trials.framework

    @lru_cache(maxsize=_KEPT)
    def made(width: int, length: int, base: float) -> list[np.ndarray]:
        values = {"width": width, "length": length, "base": base, "positions": arrays.from_numpy(np.arange(length))}
        found = function(**{name: values[role] for role, name in names.items()})
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
