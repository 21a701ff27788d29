"""How a backward pass is called: what each of its parameters is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import saved
from veriformer.adapters.matching.backward_pairs import Pair, is_upstream
from veriformer.adapters.matching.forms import LEFT_OUT, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import NEUTRAL, Taking, folded, parameters_of
from veriformer.adapters.matching.search import Found
from veriformer.adapters.matching.sources import Taken, taken
from veriformer.spec.operations import OPERATIONS

_OPTIONS = "param params config cfg options opts hparams lnparam normparam"


@dataclass
class Call:
    """How a backward pass is called: what each parameter is given, of the arguments and of the forward's results."""

    sources: dict[str, Callable[[Arguments, Any], Any]] = field(default_factory=dict)
    by_position: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    needs_forward: bool = False
    is_guessed: bool = False
    has_upstream: bool = False

    def of(self, function: Callable[..., Any], arguments: Arguments, returned: Any) -> Any:
        """Return what the backward pass returns, for arguments in its layout and what its forward function returned."""
        values = {name: source(arguments, returned) for name, source in self.sources.items()}
        given = {name: value for name, value in values.items() if value is not LEFT_OUT}
        positional = [given.pop(name) for name in self.by_position]
        return function(*positional, **given)


def call_of(pair: Pair, forward: Found | None, arrays: ArrayFramework, *, flat: bool) -> Call | None:
    """Return how the backward pass of a pair is called; None where its signature cannot be read.

    `forward` is the form of its forward function. `flat` numbers that were kept have no axis of length 1.
    """
    takings = parameters_of(pair.backward)
    if takings is None:
        return None
    call, operation = Call(), pair.operation
    places = saved.places_of_results(pair.forward) if forward is not None and pair.forward is not None else {}
    inputs = [one for one in takings if not is_upstream(one.name, operation)]
    keeps = any(folded(one.name) in saved.CACHES or saved.kept_called(operation, one.name) for one in inputs)
    of_inputs = taken(operation, inputs, by_order=not keeps)
    for one in takings:
        if one.by_position:
            call.by_position.append(one.name)
        call.sources[one.name] = _source_of(one, call, pair, forward, places, of_inputs, arrays, flat)
    call.features += [role for role in of_inputs.features if role in OPERATIONS[operation].features]
    return call


def _source_of(
    one: Taking,
    call: Call,
    pair: Pair,
    forward: Found | None,
    places: Mapping[str, tuple[int, ...]],
    of_inputs: Taken,
    arrays: ArrayFramework,
    flat: bool,
) -> Callable[[Arguments, Any], Any]:
    name, operation = one.name, pair.operation
    kind = saved.kept_called(operation, name)
    if not call.has_upstream and is_upstream(name, operation):
        call.has_upstream = True
        return lambda arguments, _: arguments["grad_output"]
    if folded(name) in saved.CACHES and not one.has_default:
        call.needs_forward = True
        return lambda _, returned: saved.cache_in(returned, name, places)
    is_output = operation == "softmax" and kind is not None and not saved.is_uncertain(name, pair.backward)
    if name in of_inputs.roles and not is_output:
        source: Source = of_inputs.sources[name]
        of_forward = forward.form.sources.get(name) if forward is not None else None
        if of_inputs.roles[name] == "mask" and of_forward is not None:
            source = of_forward
        return lambda arguments, _: source(arguments)
    if name in places and len(places[name]) >= 1 and not one.has_default:
        call.needs_forward = True
        return lambda _, returned: saved.at(returned, places[name])
    if kind is not None and not one.has_default:
        call.is_guessed = call.is_guessed or saved.is_uncertain(name, pair.backward)
        return lambda arguments, _: saved.kept(kind, arguments, arrays, flat=flat)
    if folded(name) in _OPTIONS.split() and not one.has_default:
        return lambda arguments, _: {"eps": arguments["eps"]} if "eps" in arguments else {}
    source = of_inputs.sources.get(name, lambda _: LEFT_OUT)
    if not one.has_default and name in of_inputs.unknown and folded(name) not in NEUTRAL:
        call.unknown.append(name)
    return lambda arguments, _: source(arguments)
