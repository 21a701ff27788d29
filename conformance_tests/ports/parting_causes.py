"""Why two models part at a step: a weight, a constant, an axis, an activation, a factor, a step that only one takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.findings import Cause, CauseKind
from veriformer.conformance_tests.ports.formulas import Formula, applied
from veriformer.conformance_tests.ports.parting import Behind, Parting, Partings
from veriformer.conformance_tests.ports.parting_weights import WeightTold, weights_told
from veriformer.conformance_tests.recognition.paths import common_path

UNKNOWN = "none that is known"
SURE, LIKELY, PERHAPS = 1.0, 0.8, 0.5
_MOST_STEPS_NAMED, _MOST_STEPS_BETWEEN, _NEXT = 4, 12, 8


@dataclass(frozen=True)
class Told:
    """A cause with the steps of both models that it is about, and the parameters where it is about these."""

    cause: Cause
    first: int | None
    second: int
    names_a: tuple[str, ...] = ()
    names_b: tuple[str, ...] = ()


def cause_of_parting(partings: Partings) -> Told | None:
    """Return the surest cause of where the second model leaves what both have, in the first layer where it does."""
    told = [*(next(_causes(partings, one)) for one in partings.all), *_of_unused_weights(partings)]
    if not told:
        return None
    # The place counts more than the name: a cause in a later layer says nothing of the first place.
    layer = _layer_of(path_of(partings.second, told[0].second))
    near = [one for one in told if _layer_of(path_of(partings.second, one.second)) == layer]
    return max(near, key=lambda one: one.cause.confidence)


def _layer_of(path: str) -> str:
    """Return a path of modules up to its first number; all of it where there is none."""
    found = re.match(r".*?(?:^|[._\[])\d+(?=[._\]]|$)", path)
    return path if found is None else found.group()


def path_of(side: Behind, place: int) -> str:
    """Return the module of a step; where none was running, that of the parameters that were used last before it."""
    step = side.flow.steps[place]
    if step.module:
        return step.module
    for index in range(place, -1, -1):
        names = side.names(index)
        if names:
            return common_path(names).rpartition(".")[0] or common_path(names)
    return ""


def _causes(of: Partings, one: Parting) -> Iterator[Told]:
    yield from _of_weights(of, one)
    yield from _of_formulas(of, one)
    yield from _of_activations(of, one)
    yield from _of_operands(of, one)
    yield from _of_steps_left_out(of, one)
    yield from _of_additional_steps(of, one)
    yield from _of_held_factors(of, one)
    yield from _of_order(of, one)
    yield _unknown(of, one)


def _of_unused_weights(of: Partings) -> Iterator[Told]:
    """Yield that the first model uses a weight next that has no part in the second one's results."""
    for leaving in of.first.frontier.leaving:
        weights = [one for one in of.first.weights(leaving.step) if of.first.common.says_something(one)]
        for weight in weights:
            if of.is_used(weight) or not of.all:
                continue
            near = [
                one
                for one in of.all
                if any(of.is_same(own, each) for own in one.second.common for each in leaving.common)
            ]
            one = (near or of.all)[0]
            if any(
                of.second.flow.array(each).size == of.first.flow.array(weight).size
                for each in of.second.weights(one.second.step)
            ):
                # Another weight is in its place.
                continue
            name = ", ".join(of.first.flow.parameters_of(weight))
            words = f"A uses {name} ({of.first.formula(leaving.step).words}), and it has no part in B's results"
            cause = Cause("mistake", "missing", words, SURE, f"use {name} as A does")
            yield Told(cause, leaving.step, one.second.step, of.first.flow.parameters_of(weight)[:1])


def _of_weights(of: Partings, one: Parting) -> Iterator[Told]:
    for found in weights_told(of, one):
        yield _of_weight(found, one)


def _of_weight(found: WeightTold, one: Parting) -> Told:
    named_a, named_b = ", ".join(found.names_a), ", ".join(found.names_b)
    if found.elsewhere:
        words = f"B uses {named_b} with the numbers of A's {found.elsewhere}, where A uses {named_a}"
        change = f"{named_b}: use the numbers of A's {named_a}"
        return Told(
            Cause("weight", "elsewhere", words, SURE, change), found.first, found.second, found.names_a, found.names_b
        )
    relation = found.relation
    words = f"compared with A's {named_a}, which A uses in its place, B's {named_b} is {relation.words}"
    if found.takes_others:
        words = (
            f"the numbers of B's {named_b} are those of A's {named_a}, and B takes others of them, or in another order"
        )
        return Told(Cause("mistake", "other rows", words, SURE, words), found.first, found.second)
    kind: CauseKind = "factor" if relation.name == "scaled" else "precision" if relation.name == "rounded" else "weight"
    confidence = LIKELY if relation.name.startswith("other") else SURE
    change = f"{named_b}: take the numbers of A's {named_a}"
    return Told(
        Cause(kind, relation.name, words, confidence, change), found.first, found.second, found.names_a, found.names_b
    )


def _of_held_factors(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that an operand is the first model's but for a factor, which nothing behind it takes back."""
    if one.formula.is_linear:
        # The result would be the first model's but for the same factor.
        return
    factors = {value: _factor(of.second, value) for value in one.second.common if not of.second.flow.is_fixed(value)}
    if one.formula.takes_two and _are_near([*factors.values()]):
        return
    off = [value for value, factor in factors.items() if factor != 1.0]
    off = [value for value in off if not _is_taken_back(of.second, one.second.result, factors[value])]
    if not off:
        return
    origins = {value: _origin(of.second, value, factors[value]) for value in off}
    value = max(off, key=lambda each: origins[each])
    other = of.second.common.scaled(value)[0]
    # A factor that all operands have alike is a factor of the result; what is left of two is the sign.
    alike = one.formula.takes_two and _are_near([abs(factor) for factor in factors.values()])
    sign = alike or _near(other.factor, -1.0)
    times = factor_in_words(other.factor, of.second.flow.shape(value))
    scaled = "the negative of what it is" if sign else f"{times} times what it is"
    words = f"in B {described(of.second, value)} is {scaled} in A"
    change = f"take the sign back: {words}" if sign else f"divide by {times}: {words}"
    cause = Cause("factor", "sign" if sign else "scaled", words, SURE, change)
    yield Told(cause, of.first.flow.maker(other.value), origins[value])


def _factor(side: Behind, value: int) -> float:
    """Return what the other model's numbers of a value are multiplied by."""
    scaled = side.common.scaled(value)
    return 1.0 if side.common.has(value) or not scaled else scaled[0].factor


def _is_taken_back(side: Behind, start: int, factor: float) -> bool:
    for value in side.chain(start)[:_NEXT]:
        place = side.flow.maker(value)
        constant = None if place is None else side.formula(place).constant
        if constant and any(abs(abs(each * factor) - 1.0) < 1e-6 for each in (constant, 1 / constant)):
            return True
    return False


def _origin(side: Behind, value: int, factor: float) -> int:
    """Return the first step on the way to a value whose result is off by its factor."""
    origin = side.flow.maker(value) or 0
    place: int | None = origin
    while place is not None:
        origin = place
        before = [one for one in side.moving(place) if _near(_factor(side, one), factor)]
        place = side.flow.maker(before[0]) if before else None
    return origin


def _of_formulas(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that both compute something else of the same operands."""
    if one.first is None or one.counterpart is None or not _same_operands(of, one):
        return
    mine, theirs = one.formula, one.counterpart
    words = f"A: {theirs.words}; B: {mine.words}"
    subject = _subject(of.second, one)
    words = f"{words}, of {subject}" if subject else words
    if mine.name != theirs.name:
        of_one_kind = (mine.takes_two and theirs.takes_two) or (mine.is_over_an_axis and theirs.is_over_an_axis)
        if of_one_kind:
            yield _said(one, "mistake", "operation", words, SURE)
        return
    if mine.constant is not None and theirs.constant is not None and not _near(mine.constant, theirs.constant):
        yield _said(one, "convention", "constant", words, SURE)
    if mine.axis is not None and mine.axis != theirs.axis:
        yield _said(one, "mistake", "axis", words, SURE)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other))


def _are_near(numbers: list[float]) -> bool:
    return all(_near(one, numbers[0]) for one in numbers)


def _same_operands(of: Partings, one: Parting) -> bool:
    assert one.first is not None
    theirs = [value for value in of.first.flow.steps[one.first].operands if _matters(of.first, value)]
    mine = one.second.common
    return len(theirs) == len(mine) and all(any(of.is_same(own, each) for own in mine) for each in theirs)


def _matters(side: Behind, value: int) -> bool:
    flow = side.flow
    return flow.array(value).dtype.kind == "f" and (flow.depends_on_input(value) or flow.depends_on_parameters(value))


def _of_activations(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the two apply other functions to each number of one value."""
    for value in one.second.common:
        if of.second.flow.is_fixed(value):
            continue
        for other in of.second.common.same(value)[:2]:
            theirs = applied(of.first.flow, other, of.first.chain(other))
            mine = applied(of.second.flow, value, of.second.chain(value))
            if theirs and theirs[-1][0] not in [formula for formula, _ in mine]:
                yield _of_functions(of, one, other, theirs[-1], mine[-1][0] if mine else None)


def _of_functions(of: Partings, one: Parting, value: int, theirs: tuple[Formula, int], mine: Formula | None) -> Told:
    formula, result = theirs
    said = one.formula.words if mine is None else mine.words
    words = f"A: {formula.words} of {described(of.first, value)}; B: {said}"
    name = (
        "axis"
        if mine is not None and mine.name == formula.name
        else "activation"
        if formula.is_activation
        else "operation"
    )
    return _said(one, "mistake", name, words, LIKELY if mine is None else SURE, of.first.flow.maker(result))


def _of_operands(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that a step takes another value than the first model's does, of those that both have."""
    if one.first is None or not (one.computes_the_same or _shares_weight(of, one)):
        return
    theirs = [
        value for value in of.first.moving(one.first) if not any(of.is_same(own, value) for own in one.second.common)
    ]
    mine = [
        value
        for value in one.second.common
        if not of.second.flow.is_fixed(value)
        and not any(of.is_same(value, each) for each in of.first.moving(one.first))
    ]
    held = [value for value in theirs if of.first.frontier.holds(value) and of.first.common.says_something(value)]
    if len(theirs) == len(mine) == len(held) == 1:
        if of.counterparts(mine[0]) & _moved_from(of.first, held[0]):
            # Both take numbers of one value, which may be cut in another way.
            return
        words = f"A takes {described(of.first, held[0])}, where B takes {described(of.second, mine[0])}"
        yield _said(one, "mistake", "operand", words, LIKELY)


def _shares_weight(of: Partings, one: Parting) -> bool:
    assert one.first is not None
    weights = of.first.weights(one.first)
    return any(of.is_same(own, each) for own in of.second.weights(one.second.step) for each in weights)


# --- steps that only one takes ---


def _of_steps_left_out(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the first model does something to a value first, which the second one takes as it is."""
    found = _left_out(of, one)
    if found is None:
        return
    places, value = found
    what = described(of.second, value)
    words, names = _in_words(of.first, places)
    factor = of.first.formula(places[0]).constant if len(places) == 1 else None
    if factor is not None and of.first.formula(places[0]).name == "factor":
        times = factor_in_words(factor, of.second.flow.shape(value))
        yield _said(one, "factor", "scaled", f"A multiplies {what} by {times} first, and B does not", LIKELY, places[0])
        return
    sentence = f"A does something to {what} first, and B takes it as it is: {words}"
    yield Told(Cause("mistake", "missing", sentence, LIKELY, sentence), places[0], one.second.step, names[:1])


def _of_additional_steps(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the second model does something to a value first, which the first one takes as it is."""
    for other in of.exchanged.all:
        found = _left_out(of.exchanged, other)
        if found is None or one.second.step not in found[0]:
            continue
        places, value = found
        words, names = _in_words(of.second, places)
        sentence = f"B does something to {described(of.first, value)} first, and A takes it as it is: {words}"
        formula = of.second.formula(places[0])
        kind: CauseKind = "factor" if len(places) == 1 and formula.name == "factor" else "mistake"
        name = "scaled" if kind == "factor" else "additional"
        yield Told(Cause(kind, name, sentence, LIKELY, sentence), other.second.step, places[0], (), names[:1])


def _left_out(of: Partings, one: Parting) -> tuple[list[int], int] | None:
    """Return the steps that the first model takes between a value that both have and what the second one does to it."""
    for place in _alike(of, one):
        for operand in of.first.flow.steps[place].operands:
            if operand not in of.first.frontier.beyond:
                continue
            for value in one.second.common:
                if of.second.frontier.is_weight(value) and of.second.moving(one.second.step):
                    continue
                found = _computing(of.first, of.counterparts(value), operand)
                if found and of.first.flow.array(operand).size == of.second.flow.array(value).size:
                    return found, value
    return None


def _computing(side: Behind, start: set[int], end: int) -> list[int]:
    """Return the steps between two values that compute something; none where these are whole layers."""
    steps = [place for place in side.way(start, end) or () if side.flow.steps[place].kind != Kind.REARRANGEMENT]
    layers = any(side.flow.steps[place].kind in (Kind.CONTRACTION, Kind.ATTENTION) for place in steps)
    return [] if layers or len(steps) > _MOST_STEPS_BETWEEN else steps


def _alike(of: Partings, one: Parting) -> Iterator[int]:
    """Yield the steps of the first model that do what a step of the second one does, of other operands."""
    weights = [value for value in of.second.weights(one.second.step) if of.second.frontier.is_weight(value)]
    for place in of.first.steps:
        if of.first.formula(place).name != one.formula.name or not one.formula.is_known:
            continue
        theirs = of.first.weights(place)
        if not weights or any(of.is_same(own, each) for own in weights for each in theirs):
            yield place


def _in_words(side: Behind, places: list[int]) -> tuple[str, tuple[str, ...]]:
    said = list(dict.fromkeys(side.formula(place).words for place in places))
    names = tuple(dict.fromkeys(name for place in places for name in side.names(place)))
    more = ", …" if len(said) > _MOST_STEPS_NAMED else ""
    with_names = f", with {', '.join(names[:2])}" if names else ""
    return f"{', '.join(said[:_MOST_STEPS_NAMED])}{more}{with_names}", names


def _of_order(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the same numbers are put together, in another order or taken from another place."""
    if one.first is None:
        return
    subject = _subject(of.second, one) or "the same numbers"
    if one.computes_the_same and _same_operands(of, one):
        words = f"both compute {one.formula.words} of {subject}, and the numbers are in another order in B"
        yield _said(one, "mistake", "permuted", words, PERHAPS)
        return
    for value in one.second.common:
        for operand in of.first.moving(one.first):
            if of.is_same(value, operand) or operand not in of.first.frontier.beyond:
                continue
            if of.counterparts(value) & _moved_from(of.first, operand):
                words = f"B takes other numbers of {described(of.first, operand)} than A, or in another order"
                yield _said(one, "mistake", "permuted", words, PERHAPS)
                return


def _moved_from(side: Behind, value: int) -> set[int]:
    """Return a value and all that it holds numbers of, as they were before they were moved."""
    found, queue = {value}, [value]
    for each in queue:
        step = side.flow.making(each)
        for operand in step.operands if step is not None and step.kind == Kind.REARRANGEMENT else ():
            if operand not in found:
                found.add(operand)
                queue.append(operand)
    return found


def _unknown(of: Partings, one: Parting) -> Told:
    subject = _subject(of.second, one) or "what the model is given"
    theirs = "" if one.counterpart is None else f", and A computes {one.counterpart.words}"
    words = (
        f"the last that both have is {subject}; of it B computes {one.formula.words}{theirs}; nothing behind it is the "
        "same again"
    )
    return _said(one, "unknown", UNKNOWN, words, 0.0)


def _subject(side: Behind, one: Parting) -> str:
    moving = [value for value in one.second.common if not side.flow.is_fixed(value)] or list(one.second.common)
    return " and ".join(dict.fromkeys(described(side, value) for value in moving[:2]))


def _said(one: Parting, kind: CauseKind, name: str, words: str, confidence: float, first: int | None = None) -> Told:
    cause = Cause(kind, name, words, confidence, "" if kind == "unknown" else words)
    return Told(cause, one.first if first is None else first, one.second.step)


def described(side: Behind, value: int) -> str:
    """Return a value in words: by the parameter that made it, or by what was computed."""
    flow = side.flow
    while (step := flow.making(value)) is not None and step.kind == Kind.REARRANGEMENT:
        floats = [one for one in step.operands if flow.array(one).dtype.kind == "f"]
        if not floats:
            break
        value = max(floats, key=lambda one: (flow.depends_on_input(one), flow.array(one).size))
    given = flow.trace.values[value]
    place = flow.maker(value)
    if place is None:
        return (
            given.name
            if given.origin == "parameter"
            else "the model's input"
            if given.origin == "input"
            else "a constant"
        )
    names = side.names(place)
    return f"what {names[0]} gives" if names else f"the result of {side.formula(place).words}"
