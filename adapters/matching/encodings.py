"""What a function may want where the interface has a mask that is True at what may be attended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    return lambda mask, arguments: chosen(mask, visible, hidden, arguments["query"])


ADDED = "added, −∞ is hidden"
HIDDEN = "True is hidden"
KINDS = (
    Encoding("True may be attended", lambda mask, _: mask),
    Encoding(HIDDEN, lambda mask, _: negated(mask)),
    Encoding(ADDED, _numbers(0.0, -math.inf)),
    Encoding("1 may be attended, 0 is hidden", _numbers(1.0, 0.0)),
    Encoding("1 is hidden, 0 may be attended", _numbers(0.0, 1.0)),
)


def by_name(parameter: str) -> Sequence[Encoding]:
    """Return the kinds of masks, the one first that a parameter's name says: what is called padding is hidden.

    Values decide; the name does where a wrong function makes them alike.
    """
    hides = "pad" in parameter.lower()
    return sorted(KINDS, key=lambda one: one.words != HIDDEN) if hides else KINDS


def encodings() -> list[Encoding]:
    """Return the kinds of masks, as they are given and then whole: with all axes of the logits."""
    return [*KINDS, *(Encoding(one.words, _of_whole(one)) for one in KINDS)]


def _of_whole(encoding: Encoding) -> Callable[[Any, Any], Any]:
    return lambda mask, arguments: encoding.of(_whole(mask, arguments), arguments)
