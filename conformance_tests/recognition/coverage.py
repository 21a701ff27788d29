"""How much of a recorded pass was understood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.conditions import conditions_of
from veriformer.conformance_tests.recognition.expressions import Expression, Norm, Output, Unknown, Waves
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap, Lookup
from veriformer.conformance_tests.recognition.mixtures import Mixture
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.paths import code_of
from veriformer.conformance_tests.recognition.pooling import pooled_ends, pooled_of
from veriformer.conformance_tests.recognition.similarities import similarities_of
from veriformer.conformance_tests.recognition.stream_parts import norms_of
from veriformer.conformance_tests.recognition.sublayers import each_inside, inner_expressions


def coverage(model: ModelReading, departures: Sequence[Departure]) -> tuple[int, int]:
    """Return how many steps compute something, and how many of them lie behind a value that was understood."""
    computing, understood = understood_steps(model, departures)
    return len(computing), len(understood)


def modules_of(model: ModelReading, steps: Iterable[int]) -> dict[str, int]:
    """Return how many of some steps each module has, in the order of execution.

    Steps of no module go by the lines of code that they are of.
    """
    unread = sorted(steps)
    lines: dict[str, list[int]] = {}
    for file, line in (code_of(model.flow, index) for index in unread if not model.flow.steps[index].module):
        lines.setdefault(file, []).append(line)
    ranges = {file: _range_of(file, min(found), max(found)) for file, found in lines.items()}
    places = (model.flow.steps[index].module or ranges[code_of(model.flow, index)[0]] for index in unread)
    return dict(Counter(places))


def _range_of(file: str, first: int, last: int) -> str:
    """Return lines of a file in words; "" where the framework does not tell the file."""
    if not file:
        return ""
    return f"{PurePath(file).name}:{first}" + (f"–{last}" if last > first else "")


def understood_steps(model: ModelReading, departures: Sequence[Departure]) -> tuple[set[int], set[int]]:
    """Return the steps that compute something, and those of them that lie behind a value that was understood.

    What departs by a known mistake was understood too.
    """
    computing = {
        index
        for index, step in enumerate(model.flow.steps)
        if step.kind != Kind.REARRANGEMENT and any(model.flow.depends_on_input(one) for one in step.results)
    }
    understood: set[int] = set()
    for one in model.maps.linear:
        understood.update((one.step, *_of_bias(model, one)))
    for lookup in model.maps.lookups:
        understood.update((lookup.step, *_of_rows(model, lookup)))
    for layered in model.readings:
        known = _departs_knowingly(layered, departures)
        if layered.attention is not None and layered.is_judged and (layered.attention.setting is not None or known):
            understood.update(_behind(model, layered.attention.sublayer.exit.input))
            understood.update(_returned_weights(model, layered.attention))
        if layered.network is not None and (layered.network.activation is not None or known):
            understood.update(_behind(model, layered.network.sublayer.exit.input))
        for _, norm in norms_of(layered.place):
            understood.update(_read_as(model, norm))
        if layered.place.result is not None:
            understood.update(_read_as(model, layered.place.result))
    for mixture in model.mixtures:
        understood.update(_of_mixture(model, mixture))
    for site in model.reader.sites:
        # An attention without a projection behind it is no sublayer, and may be all the same what a departure names.
        if any(one.place in site.steps and one.step == "attention_output" for one in departures):
            understood.update(_behind(model, site.output_value))
    for output in (*model.trace.outputs, *model.ends_of_memories):
        understood.update(_read_as(model, model.reader.read(output)))
    for norm in model.other_norms:
        understood.update(_read_as(model, norm))
    for _, condition in (found for one in model.conditioned for found in conditions_of(one)):
        understood.update(_read_as(model, condition.of))
    for one in (*model.first_maps, *model.other_maps):
        understood.update(_read_as(model, model.reader.read(one.input)))
    for similarity in similarities_of(model):
        if similarity.is_understood:
            understood.add(similarity.step)
        understood.update(_read_as(model, similarity.first) | _read_as(model, similarity.second))
    # Where no sublayer was found, every map is behind the last one.
    for one in model.ends if model.layered else model.ends[-1:]:
        understood.update(_read_as(model, model.reader.read(one.input)))
        pooled = pooled_of(model, one.input)
        if pooled is not None:
            understood.update(model.flow.between(pooled.stream, one.input))
            understood.update(_read_as(model, model.reader.read(pooled.stream)))
    for end in pooled_ends(model):
        understood.update(model.flow.between(end.pooled.stream, end.output))
        if end.pooled.kept is not None:
            understood.update(model.flow.between(end.pooled.kept, end.output), _behind(model, end.pooled.kept))
        understood.update(_read_as(model, model.reader.read(end.pooled.stream)))
    return computing, computing & understood


def _of_rows(model: ModelReading, lookup: Lookup) -> set[int]:
    """Return the steps between the tokens that were handed over and the rows that are looked up, if these are the same.

    JAX has numbers below 0 count from the end.
    """
    rows = model.flow.array(lookup.rows).ravel()
    for one in model.trace.inputs:
        tokens = model.flow.array(one)
        if tokens.dtype.kind in "iu" and np.array_equal(tokens.ravel(), rows):
            return set(model.flow.between(one, lookup.rows))
    return set()


def _departs_knowingly(layered: Layered, departures: Sequence[Departure]) -> bool:
    """Return whether a departure says what a sublayer does: a mistake, or constants of another activation."""
    its = [one for one in departures if one.path == layered.path and one.layer == layered.layer]
    return any(one.suspects or one.step == "activation" for one in its)


def _of_mixture(model: ModelReading, mixture: Mixture) -> set[int]:
    """Return the steps that send rows to experts and sum what they give; with those of shares that were understood."""
    if mixture.summed is None:
        return set()
    # Which rows each expert gets, and where its own go.
    known = {step for one in mixture.members for step in _behind(model, one.place.sublayer.entry.input)}
    for one in mixture.members:
        known.update(model.flow.between(one.place.sublayer.exit.output, mixture.summed))
    if mixture.scheme or mixture.mistake is not None:
        known.update(_behind(model, mixture.summed))
        known.update(model.flow.between(mixture.router.output, mixture.summed))
        known.update(_deciding(model, mixture))
    return known


def _deciding(model: ModelReading, mixture: Mixture) -> set[int]:
    """Return the steps that only decide in the code which experts are run: nothing that is returned is made of them."""
    returned = {one for output in model.trace.outputs for one in model.flow.ancestors(output)}
    chosen = model.flow.descendants(mixture.router.output, stop=lambda one: one == mixture.summed)
    made = (model.flow.maker(one) for one in chosen if one not in returned)
    return {one for one in made if one is not None}


def _read_as(model: ModelReading, expression: Expression) -> set[int]:
    """Return the steps that make a value of what it was read as: down to maps, tables, heads, and what is unknown."""
    if expression.value < 0 or (_is_an_end(expression) and not isinstance(expression, Waves)):
        return set()
    inside = each_inside(expression, lambda one: isinstance(one, Output) or _is_unknown(one))
    # What is made of the model's inputs alone has no end behind it.
    ends = {one.value for one in inside if _is_an_end(one) and not isinstance(one, Waves)}
    near = model.flow.ancestors(expression.value, stop=lambda one: one in ends or one in model.maps.by_output)
    made = (model.flow.maker(one) for one in near if one not in ends and one not in model.maps.by_output)
    return {one for one in made if one is not None}


def _is_unknown(expression: Expression) -> bool:
    """Return whether nothing is known of how a value is made of others, as of a norm that no formula was found for."""
    return isinstance(expression, Unknown) or (isinstance(expression, Norm) and expression.is_unknown)


def _is_an_end(expression: Expression) -> bool:
    return (
        isinstance(expression, Output)
        or _is_unknown(expression)
        or not any(True for _ in inner_expressions(expression))
    )


def _behind(model: ModelReading, value: int) -> set[int]:
    if value < 0:
        return set()
    near = model.flow.ancestors(value, stop=lambda one: one in model.maps.by_output)
    made = (model.flow.maker(one) for one in near if one == value or one not in model.maps.by_output)
    return {one for one in made if one is not None}


def _returned_weights(model: ModelReading, attention: AttentionReading) -> Iterator[int]:
    """Yield the steps between the weights of an attention and a further output, such as their mean over the heads."""
    for site in attention.sublayer.sites:
        for output in model.trace.outputs[1:]:
            if site.weights_value is not None:
                yield from model.flow.between(site.weights_value, output)


def _of_bias(model: ModelReading, linear: LinearMap) -> Iterator[int]:
    """Yield the step that adds the bias of a linear map, where that is a step of its own."""
    if linear.bias is not None and (made := model.flow.maker(linear.output)) is not None:
        yield made
