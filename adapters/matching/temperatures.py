"""The temperature of a softmax or an attention: halved logits over a temperature of one half are the logits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import LEFT_OUT, Form
from veriformer.adapters.matching.layouts import ATTENTION, Arguments
from veriformer.adapters.matching.names import Taking, folded
from veriformer.adapters.matching.sources import Taken

_NAMES = ("temperature", "temp", "tau")
# A power of two, by which no number is rounded.
_TEMPERATURE = 0.5
# The argument that logits are proportional to.
_LINEAR: Mapping[str, str] = {"softmax": "x"} | dict.fromkeys(ATTENTION, "query")
# What is added to logits or bounds them, before or after they are divided: nobody says which.
_BESIDE = ("bias", "softcap", "sinks")


def forms(operation: str, form: Form, found: Taken) -> Iterator[Form]:
    """Yield the form that is given a temperature, if it takes one whose default changes nothing; the form itself last.

    softmax((x/2) / (1/2)) = softmax(x): one that multiplies by its temperature, or ignores it, gives something else.
    """
    name = _temperature_in(found)
    roles = {role: one for one, role in found.roles.items()}
    linear = roles.get(_LINEAR.get(operation, ""))
    if name is None or linear is None:
        yield form
        return
    plain = form.sources[linear]

    def halved(arguments: Arguments) -> Any:
        return plain(arguments) * _TEMPERATURE if _is_alone(arguments) else plain(arguments)

    def temperature(arguments: Arguments) -> Any:
        neutral = LEFT_OUT if name in found.defaults else 1.0
        return _TEMPERATURE if _is_alone(arguments) else neutral

    sources = {**form.sources, linear: halved, name: temperature}
    yield replace(form, sources=sources, words=(*form.words, f"`{name}` is {_TEMPERATURE}, its logits halved"))
    if name not in found.needed:
        yield replace(form, last_resort=True)


def has_temperature(operation: str, takings: Sequence[Taking]) -> bool:
    """Return whether parameters are those of a softmax or an attention with a temperature that changes nothing."""
    named = [one for one in takings if operation in _LINEAR and folded(one.name) in _NAMES]
    return any(not one.has_default or _is_neutral(one.default) for one in named)


def _temperature_in(found: Taken) -> str | None:
    free = [one for one in found.sources if one not in found.roles and folded(one) in _NAMES]
    return next((one for one in free if one in found.needed or _is_neutral(found.defaults[one])), None)


def _is_neutral(default: Any) -> bool:
    return default is None or (type(default) in (int, float) and default == 1)


def _is_alone(arguments: Arguments) -> bool:
    return not any(arguments.get(one) is not None for one in _BESIDE)
