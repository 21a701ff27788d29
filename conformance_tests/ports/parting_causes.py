"""Why two models part at a step: a weight, a constant, an axis, an activation, a factor, a step that only one takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.findings import NO_NAME, Cause, CauseKind
from veriformer.conformance_tests.ports.formulas import Formula, applied
from veriformer.conformance_tests.ports.parting import Behind, Parting, Partings
from veriformer.conformance_tests.ports.parting_steps import of_additional_steps, of_steps_left_out
from veriformer.conformance_tests.ports.parting_told import (
    LIKELY,
    PERHAPS,
    SURE,
    Told,
    described,
    path_of,
    said,
    subject_of,
)
from veriformer.conformance_tests.ports.parting_weights import WeightTold, weights_told

_NEXT = 8


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


def _causes(of: Partings, one: Parting) -> Iterator[Told]:
    yield from _of_weights(of, one)
    yield from _of_formulas(of, one)
    yield from _of_activations(of, one)
    yield from _of_operands(of, one)
    yield from of_steps_left_out(of, one)
    yield from of_additional_steps(of, one)
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
        change = f"take the numbers of {named_b} that A takes of {named_a}, in A's order"
        return Told(Cause("mistake", "other rows", words, SURE, change), found.first, found.second)
    kind: CauseKind = "factor" if relation.name == "scaled" else "precision" if relation.name == "rounded" else "weight"
    confidence = LIKELY if relation.name.startswith("other") else SURE
    change = f"{named_b}: take the numbers of A's {named_a}"
    return Told(
        Cause(kind, relation.name, words, confidence, change), found.first, found.second, found.names_a, found.names_b
    )


def _of_held_factors(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that an operand is the first model's but for a factor, which nothing behind it takes back."""
    if one.formula.is_linear and not _adds_a_bias(of.second, one):
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


def _adds_a_bias(side: Behind, one: Parting) -> bool:
    """Return whether a map adds a vector besides, which no factor of its input multiplies."""
    step = side.flow.steps[one.second.step]
    floats = [value for value in step.operands if side.flow.array(value).dtype.kind == "f"]
    return step.kind == Kind.CONTRACTION and len(floats) > 2


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
    subject = subject_of(of.second, one)
    words = f"{words}, of {subject}" if subject else words
    change = f"compute what A does, {theirs.words}, in place of {mine.words}{f', of {subject}' if subject else ''}"
    if mine.name != theirs.name:
        of_one_kind = (mine.takes_two and theirs.takes_two) or (mine.is_over_an_axis and theirs.is_over_an_axis)
        if of_one_kind:
            yield said(one, "mistake", "operation", words, SURE, change)
        return
    if mine.constant is not None and theirs.constant is not None and not _near(mine.constant, theirs.constant):
        yield said(one, "convention", "constant", words, SURE, change)
    if mine.axis is not None and mine.axis != theirs.axis:
        yield said(one, "mistake", "axis", words, SURE, change)


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
    own = one.formula.words if mine is None else mine.words
    words = f"A: {formula.words} of {described(of.first, value)}; B: {own}"
    name = (
        "axis"
        if mine is not None and mine.name == formula.name
        else "activation"
        if formula.is_activation
        else "operation"
    )
    change = f"apply {formula.words} to {described(of.first, value)}, as A does, in place of {own}"
    return said(one, "mistake", name, words, LIKELY if mine is None else SURE, change, of.first.flow.maker(result))


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
        change = f"take {described(of.first, held[0])} in place of {described(of.second, mine[0])}"
        yield said(one, "mistake", "operand", words, LIKELY, change)


def _shares_weight(of: Partings, one: Parting) -> bool:
    assert one.first is not None
    weights = of.first.weights(one.first)
    return any(of.is_same(own, each) for own in of.second.weights(one.second.step) for each in weights)


def _of_order(of: Partings, one: Parting) -> Iterator[Told]:
    """Yield that the same numbers are put together, in another order or taken from another place."""
    if one.first is None:
        return
    subject = subject_of(of.second, one) or "the same numbers"
    if one.computes_the_same and _same_operands(of, one):
        words = f"both compute {one.formula.words} of {subject}, and the numbers are in another order in B"
        yield said(one, "mistake", "permuted", words, PERHAPS, f"put the numbers of {subject} into A's order")
        return
    for value in one.second.common:
        for operand in of.first.moving(one.first):
            if of.is_same(value, operand) or operand not in of.first.frontier.beyond:
                continue
            if of.counterparts(value) & _moved_from(of.first, operand):
                words = f"B takes other numbers of {described(of.first, operand)} than A, or in another order"
                change = f"take the numbers of {described(of.first, operand)} that A takes, in A's order"
                yield said(one, "mistake", "permuted", words, PERHAPS, change)
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
    subject = subject_of(of.second, one) or "what the model is given"
    theirs = "" if one.counterpart is None else f", and A computes {one.counterpart.words}"
    words = (
        f"the last that both have is {subject}; of it B computes {one.formula.words}{theirs}; nothing behind it is the "
        "same again"
    )
    return said(one, "unknown", NO_NAME, words, 0.0, "")
