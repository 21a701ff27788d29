"""The record of one operation: its parameters, results and formula."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "bool", "int", "scalar", "flag", "weights", "configuration", "cache"]
Requirement = Literal["positional", "keyword", "feature"]
# The formula of a black box.
UNKNOWN = "unknown"
_LAST = 1000


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operation.

    A `positional` parameter is required, a `keyword` is required and passed by name, and a `feature` is an
    optional keyword: an implementation declares it by having it in its signature. `also_called` are the names that
    programs give it, separated by spaces, in lower case and without underscores.
    """

    name: str
    shape: str
    kind: Kind
    requirement: Requirement
    meaning: str
    also_called: str = ""

    @property
    def is_required(self) -> bool:
        """Whether every call passes it."""
        return self.requirement != "feature"

    @property
    def is_laid_out(self) -> bool:
        """Whether the layout orders its axes: those of vectors, one for each head and position.

        Masks, biases, weights and log-sum-exps keep theirs.
        """
        return _is_laid_out(self.shape)


def _is_laid_out(shape: str) -> bool:
    return shape.count(",") == 3 and shape.endswith((", D)", ", Dv)"))


@dataclass(frozen=True)
class Operation:
    """One operation of the interface: signature, shapes, formula, source and the conventions that bear on it.

    `results` names what an operation returns as a tuple; it is empty if the result is one array.
    `keeps_results` says that a result may not change in later calls; it is False for chains of calls, for a derived
    backward pass, whose framework decides, and where an argument may be returned. A backward pass names the operation
    that it goes back through as `forward`, those of its parameters whose gradients it returns as `differentiated`, and
    those that are the loss's gradients by the results of that operation, one for each, as `cotangents`. `records` are
    the results that are records like an argument, and that argument: the gradients of weights. Like a configuration are
    the weights of a model with it. `also_called` are the names that programs give it, separated by spaces, in lower
    case and without underscores. A `random` operation makes random numbers of its own from a seed, so that results of
    correct implementations differ. `place` orders listings; a backward pass, which has that of its forward pass, comes
    after it.
    """

    name: str
    prefix: str
    summary: str
    parameters: tuple[Parameter, ...]
    result: str
    formula: str
    source: str
    conventions: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    keeps_results: bool = True
    forward: str = ""
    differentiated: tuple[str, ...] = ()
    cotangents: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    random: bool = False
    also_called: str = ""
    place: int = _LAST

    def parameter(self, name: str) -> Parameter:
        """Return the parameter called `name`; KeyError when the operation has none of that name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(f"{self.name} has no parameter {name!r}; it has {', '.join(p.name for p in self.parameters)}")

    @property
    def positional(self) -> tuple[str, ...]:
        """The names that every call passes by position, in order."""
        return tuple(p.name for p in self.parameters if p.requirement == "positional")

    @property
    def features(self) -> tuple[str, ...]:
        """The optional keywords, each a feature that an implementation may declare."""
        return tuple(p.name for p in self.parameters if p.requirement == "feature")

    @property
    def laid_out_results(self) -> tuple[bool, ...]:
        """Whether the layout orders the axes of each array that is returned."""
        return tuple(map(_is_laid_out, re.findall(r"\([^()]*\)", self.result)))

    @property
    def takes_floats(self) -> bool:
        """Whether floats are among its arguments, which have a dtype and writable memory."""
        return any(p.kind in ("float", "weights") for p in self.parameters)

    @property
    def returns_number(self) -> bool:
        """Whether its result is a number made of numbers, for which no argument says what kind of array it would be."""
        return self.result == "scalar" and not self.takes_floats

    @property
    def is_black_box(self) -> bool:
        """Whether its formula is unknown."""
        return self.formula == UNKNOWN

    @property
    def returns_several_arrays(self) -> bool:
        """Whether the result is a tuple of arrays; one array with a cache is judged like one alone."""
        return len([name for name in self.results if name != "cache"]) > 1 or bool(self.records)

    @property
    def signature(self) -> str:
        """The canonical signature, optional keywords after a semicolon as in the interface document."""
        required = ", ".join(p.name for p in self.parameters if p.requirement == "positional")
        keywords = ", ".join(p.name for p in self.parameters if p.requirement == "keyword")
        features = ", ".join(self.features)
        return f"{self.name}({required}{', *, ' + keywords if keywords else ''}{'; ' + features if features else ''})"
