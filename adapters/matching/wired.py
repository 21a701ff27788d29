"""Functions and classes whose call is more than one of arguments: a state is set before it and read after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded

Call = Callable[[Callable[..., Any], Arguments], Any]


@dataclass(frozen=True)
class Wired(Form):
    """A form whose calls are made by `wiring`, of the function and the arguments by the interface's names.

    `is_sound` tells whether what is set before a call is all that the call depends on. A form that is `exact_only` is
    one of several meanings, and counts only where the results are the reference's.
    """

    wiring: Call = lambda function, arguments: function(**arguments)
    is_sound: Callable[[Callable[..., Any], Arguments], bool] = lambda *_: True
    exact_only: bool = False

    def called(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        """Return the operation's result."""
        return self.wiring(function, arguments)


class DoesNotFit(Exception):
    """A function or class is not called like the operation; the words say what is missing."""


def roles_of(names: Mapping[str, str], parameters: list[str]) -> dict[str, str]:
    """Return which parameter has which role: `names` are the spellings of each role, folded, the first found counts."""
    found: dict[str, str] = {}
    for role, spellings in names.items():
        its = next((one for one in parameters if folded(one) in spellings.split()), None)
        if its is not None and its not in found.values():
            found[role] = its
    return found
