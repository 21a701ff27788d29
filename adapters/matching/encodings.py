"""What a function may want where the interface has a mask that is True at what may be attended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veriformer.adapters.matching.namespaces import broadcast, chosen, negated, shape_of

Arguments = Any


@dataclass(frozen=True)
class Encoding:
    """A kind of mask: what it is made of the interface's mask, and the words that say so."""

    words: str
    of: Callable[[Any, Any], Any]


def _whole(mask: Any, arguments: Arguments) -> Any:
    """Return a mask with an entry for each sample, head, query and key, where there are heads."""
    query, key = shape_of(arguments["query"]), shape_of(arguments["key"])
    return broadcast(mask, (*query[:-1], key[-2])) if len(query) == 4 else mask


def _numbers(visible: float, hidden: float) -> Callable[[Any, Any], Any]:
    """Return what makes numbers of truth values, of the dtype of the queries, or of the vectors that they come from."""
    return lambda mask, arguments: chosen(
        mask, visible, hidden, arguments["query"] if "query" in arguments else arguments["x"]
    )


ADDED = "added, −∞ is hidden"
HIDDEN = "True is hidden"
KINDS = (
    Encoding("True may be attended", lambda mask, _: mask),
    Encoding(HIDDEN, lambda mask, _: negated(mask)),
    Encoding(ADDED, _numbers(0.0, -math.inf)),
    Encoding("1 may be attended, 0 is hidden", _numbers(1.0, 0.0)),
    Encoding("1 is hidden, 0 may be attended", _numbers(0.0, 1.0)),
)


_OF_HIDDEN = (HIDDEN, KINDS[-1].words)


def by_name(parameter: str, hides: bool | None, *, boolean: bool = False) -> Sequence[Encoding]:
    """Return the kinds of masks, the one first that a parameter's name says: what is called padding is hidden.

    Values decide; the name does where a wrong function makes them alike. `hides`, `boolean`: see `encodings`.
    """
    kinds = said_kinds(hides, boolean=boolean)
    return sorted(kinds, key=lambda one: not one.words.startswith(HIDDEN)) if "pad" in parameter.lower() else kinds


def encodings(hides: bool | None, *, boolean: bool = False) -> list[Encoding]:
    """Return the kinds of masks, as they are given and then whole: with all axes of the logits.

    Where documentation says whether what is True `hides`, the opposite is a mistake. A function that asks
    whether a mask is `boolean` means that by truth values, not by 1 and 0.
    """
    kinds = said_kinds(hides, boolean=boolean)
    return [*kinds, *(Encoding(one.words, _of_whole(one)) for one in kinds)]


def said_kinds(hides: bool | None, *, boolean: bool = False) -> Sequence[Encoding]:
    """Return the kinds of masks that documentation does not contradict, with what it says in their words."""
    kinds = [one for one in KINDS if not boolean or not one.words.startswith("1 ")]
    if hides is None:
        return kinds
    kept = [one for one in kinds if one.words != ADDED and (one.words in _OF_HIDDEN) == hides]
    return [replace(one, words=f"{one.words}, as documented") for one in kept]


def _of_whole(encoding: Encoding) -> Callable[[Any, Any], Any]:
    return lambda mask, arguments: encoding.of(_whole(mask, arguments), arguments)
