"""The comparison, repeated: where one pass shows no difference in other situations, where it does on smaller inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Repeatable
from veriformer.adapters.whole_models.arguments import is_of_flags
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.comparing import Comparing
from veriformer.conformance_tests.ports.findings import Difference, PortComparison, Situation
from veriformer.conformance_tests.ports.situations.both import Both, Outcome
from veriformer.conformance_tests.ports.situations.decoding import continued
from veriformer.conformance_tests.ports.situations.gradients import of_the_loss
from veriformer.conformance_tests.ports.situations.lengths import at_other_lengths
from veriformer.conformance_tests.ports.situations.padding import with_padding
from veriformer.conformance_tests.ports.situations.precision import in_half_precision
from veriformer.conformance_tests.ports.situations.smallest import smallest_input

_NAME = "other inputs"


def with_situations(
    found: PortComparison, comparing: Comparing, models: tuple[Repeatable | None, Repeatable | None]
) -> PortComparison:
    """Return a comparison with what other situations show, or with the smallest input that shows a difference."""
    first, second = models
    if first is None or second is None:
        return _not_repeated(found, "a record cannot be run again")
    try:
        both = Both(comparing, first, second)
    except LoadError as error:
        return _not_repeated(found, str(error))
    if not both.take_the_same:
        return _not_repeated(found, "they take inputs of different kinds")
    tokens = _sequence(comparing, both)
    if found.verdict == "differ":
        return replace(found, smallest=smallest_input(both, tokens))
    return _with(found, list(_outcomes(both, found, 0 if tokens is None else tokens.shape[1])))


def _outcomes(both: Both, found: PortComparison, recorded: int) -> Iterator[Outcome]:
    """Yield what each situation shows; half precision comes last, since it changes the models."""
    yield from at_other_lengths(both, recorded)
    yield from with_padding(both)
    yield from continued(both)
    yield from of_the_loss(both, found.weights)
    yield from in_half_precision(both)


def _with(found: PortComparison, outcomes: list[Outcome]) -> PortComparison:
    differences = _each_once(one for outcome in outcomes for one in outcome.differences)
    situations = tuple(outcome.situation for outcome in outcomes)
    if not differences:
        return replace(found, situations=situations)
    return replace(found, situations=situations, verdict="differ", differences=differences)


def _each_once(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Return the differences, those that are the same in several situations once, with all of these in words."""
    together: dict[Difference, list[str]] = {}
    for one in found:
        together.setdefault(replace(one, situation=""), []).append(one.situation)
    return tuple(replace(one, situation=" and ".join(names)) for one, names in together.items())


def _not_repeated(found: PortComparison, why: str) -> PortComparison:
    return replace(found, situations=(Situation(_NAME, "unknown", why),))


def _sequence(comparing: Comparing, both: Both) -> Array | None:
    """Return the sequence of the recorded pass, (B, L) or (B, L, E); None where it is not the only one of its kind."""
    trace = comparing.first.trace
    arrays = [trace.values[index].array for index in trace.inputs]
    like = both.drawn(1, both.shortest)
    fitting = [
        one
        for one in arrays
        if one.ndim == like.ndim and (one.dtype.kind == "f") == (like.dtype.kind == "f") and not is_of_flags(one)
    ]
    return fitting[0] if len(fitting) == 1 else None
