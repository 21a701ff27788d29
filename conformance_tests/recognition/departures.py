"""Every departure of a model, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.recognition.argument_mistakes import argument_mistakes
from veriformer.conformance_tests.recognition.attention_mistakes import attention_mistakes
from veriformer.conformance_tests.recognition.consistency import departures_of_consistency, departures_of_memories
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.ends import departures_of_beginnings, departures_of_ends
from veriformer.conformance_tests.recognition.evidence import backed, with_evidence
from veriformer.conformance_tests.recognition.expressions import Activated, Attended, Expression, Norm, Output, Sum
from veriformer.conformance_tests.recognition.final_logits import departures_of_final_logits
from veriformer.conformance_tests.recognition.findings import Departure, Difference, StepName
from veriformer.conformance_tests.recognition.heads_one_by_one import departures_of_heads_one_by_one
from veriformer.conformance_tests.recognition.image_windows import window_mistakes
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.mixtures import Mixture
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import (
    network_mistakes,
)
from veriformer.conformance_tests.recognition.not_a_number import before_nan
from veriformer.conformance_tests.recognition.paths import common_path, layer_in, module_around, path_of_maps
from veriformer.conformance_tests.recognition.positions_kept import mistakes_of_positions
from veriformer.conformance_tests.recognition.siblings import odd_layers
from veriformer.conformance_tests.recognition.sites import Site
from veriformer.conformance_tests.recognition.stated_blocks import (
    departures_of_norms_places,
    departures_of_parallel_blocks,
)
from veriformer.conformance_tests.recognition.stated_frequencies import departures_of_frequencies
from veriformer.conformance_tests.recognition.stated_layers import departures_of_layer_kinds
from veriformer.conformance_tests.recognition.stated_pooling import departures_of_pooling
from veriformer.conformance_tests.recognition.stated_routing import departures_of_routing, departures_of_shares
from veriformer.conformance_tests.recognition.stream_parts import (
    place_mistakes,
)
from veriformer.conformance_tests.recognition.streams import leaves
from veriformer.conformance_tests.recognition.structure import structural_mistakes
from veriformer.conformance_tests.recognition.sublayers import (
    AttentionSublayer,
    each_inside,
)
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected
from veriformer.conformance_tests.recognition.unused import unused_parameters
from veriformer.conformance_tests.recognition.windows_left_out import departures_of_windows_left_out
from veriformer.conformance_tests.recognition.witness import (
    departures_of_configuration,
    departures_of_names,
    departures_of_patches,
    departures_of_ties,
)

# Words in the names of operations that draw numbers, in torch, XLA and ONNX.
_RANDOM = ("dropout", "bernoulli", "rand", "random", "threefry", "Dropout", "Random", "Bernoulli")
# Words in the names of operations whose whole numbers say which rows are taken, whatever they are made of.
_ORDERING = ("sort", "perm", "multinomial", "choice", "randint")
_MIXTURE = "mixture_of_experts"
# Words in the names of operations that choose the largest of some scores.
_CHOOSING = ("topk", "top_k", "sort")


@dataclass(frozen=True)
class Found:
    """Where a model departs, and what layers of it do otherwise than others, each in the order of execution."""

    departures: tuple[Departure, ...]
    differences: tuple[Difference, ...]

    def with_layers_alike(self) -> Found:
        """Return the same of a model whose layers are meant to be alike, so that every difference is a departure."""
        every = (*self.departures, *(one.as_departure for one in self.differences))
        return Found(tuple(sorted(every, key=lambda one: one.place)), ())


def seen_again(found: Found, other: Found) -> Found:
    """Return what was found on other weights and inputs too, in the same part and step."""
    known = {_kind(one) for one in other.departures}
    differing = {_kind(one.as_departure) for one in other.differences}
    return Found(
        tuple(one for one in found.departures if _kind(one) in known),
        tuple(one for one in found.differences if _kind(one.as_departure) in differing),
    )


def _kind(one: Departure) -> tuple[str, int | None, str, str]:
    if one.operation == _MIXTURE:
        # Which layers send enough tokens to enough experts to be read differs from run to run.
        return one.sentence, None, one.step, one.operation
    return one.path, one.layer, one.step, one.operation


def found_in(model: ModelReading) -> Found:
    """Return every departure and every difference of layers once, in the order of execution."""
    found: list[Departure] = []
    for one in model.readings:
        one.suspicions = backed(one, list(_suspicions(model, one))) if one.is_judged else []
    judged = [one for one in model.readings if one.is_judged]
    for one, item in structural_mistakes(model.flow, model.reader, judged):
        one.suspicions.append(item)
    found.extend(departures_of_memories(model))
    for one in model.readings:
        found.extend(departure(model, _path_of(model, one, item), one.layer, one.kind, item) for item in one.suspicions)
    found.extend(
        departure(model, one.path, one.layer, _MIXTURE, one.mistake)
        for one in model.mixtures
        if one.mistake is not None
    )
    odd = list(odd_layers(model))
    differences = [one for one in odd if isinstance(one, Difference)]
    found.extend(one.as_departure if isinstance(one, Difference) else one for one in odd)
    found.extend(departures_of_consistency(model))
    found.extend(departures_of_beginnings(model))
    found.extend(departures_of_ends(model))
    found.extend(departures_of_configuration(model))
    found.extend(departures_of_names(model))
    found.extend(departures_of_heads_one_by_one(model))
    found.extend(departures_of_shares(model))
    found.extend(departures_of_routing(model))
    found.extend(departures_of_parallel_blocks(model))
    found.extend(departures_of_norms_places(model))
    found.extend(departures_of_layer_kinds(model))
    found.extend(departures_of_windows_left_out(model))
    found.extend(departures_of_patches(model))
    found.extend(departures_of_pooling(model))
    found.extend(departures_of_ties(model))
    found.extend(departures_of_final_logits(model))
    found.extend(departures_of_frequencies(model))
    found.extend(_of_randomness(model))
    found.extend(_of_missing_maps(model))
    found.extend([one for one in unused_parameters(model) if not _explained_by(model, one, found)])
    every = with_evidence(model, _each_once(sorted(found, key=lambda one: (one.place, not one.suspects))))
    kept = before_nan(model, every)
    of_layers = {one.as_departure for one in differences}
    return Found(
        tuple(one for one in kept if one not in of_layers),
        tuple(one for one in differences if one.as_departure in kept),
    )


def _suspicions(model: ModelReading, one: Layered) -> Iterator[Suspicion]:
    if not one.is_expert:
        found = place_mistakes(model.flow, one.place, model.streams.places)
        is_outside = _is_in_a_longer_network(model, one) or model.is_outside_of_layers(one)
        yield from (item for item in found if not (is_outside and item.step == "residual"))
        yield from mistakes_of_positions(model.flow, one.place)
    if one.attention is not None:
        yield from argument_mistakes(model.flow, one.attention)
        yield from attention_mistakes(
            model.flow,
            one.attention,
            model.settings(one),
            unscaled=model.may_leave_out_scale,
            d_model=model.sublayers.width,
        )
        yield from window_mistakes(model.flow, one.place, one.attention, model.batch)
    # Two maps in a row at the end of a tower are two heads.
    if one.network is not None and not (one.network.activation == "" and model.is_outside_of_layers(one)):
        yield from network_mistakes(model.flow, one.network)


def _is_in_a_longer_network(model: ModelReading, one: Layered) -> bool:
    """Return whether what a network gives is activated for another map: a head of three maps stands in no stream."""
    read = (model.reader.read(map_.input) for map_ in model.maps.linear)
    inside = [each.of for each in read if isinstance(each, Activated)]
    return any(isinstance(each, Output) and each.map.step == one.place.sublayer.exit.step for each in inside)


def _path_of(model: ModelReading, one: Layered, item: Suspicion) -> str:
    """Return the module that a mistake is in: a residual is where the sum is made, or should be."""
    if item.step != "residual" or not model.trace.modules or not 0 <= item.place < len(model.flow.steps):
        return one.path
    if one.place.residual == "none" and item.place == one.place.sublayer.exit.step:
        return module_around(model.flow, one.path)
    return model.flow.steps[item.place].module


def _of_randomness(model: ModelReading) -> Iterator[Departure]:
    """Yield where numbers are drawn in evaluation mode: dropout that was not switched off."""
    behind: set[int] = set()
    for output in model.trace.outputs:
        behind.update(model.flow.ancestors(output))
    for index, step in enumerate(model.flow.steps):
        if not any(word in step.operation for word in _RANDOM) or behind.isdisjoint(step.results):
            continue
        if _chooses_rows(model, step):
            continue
        at = next((one for one in model.readings if one.first_step <= index <= one.place.sublayer.exit.step), None)
        path = step.module or (at.path if at is not None else "")
        name: StepName = "residual"
        if at is not None:
            name = "weights" if at.attention is not None else "activation"
        sentence = "numbers are drawn in evaluation mode, so that each call gives another result"
        suspects = (suspected("dropout_active_in_eval"),)
        layer = at.layer if at is not None else None
        yield departure(
            model, at.path if at is not None else path, layer, "", Suspicion(name, index, sentence, suspects)
        )
        return


def _chooses_rows(model: ModelReading, step: Step) -> bool:
    """Return whether drawn numbers come to the outputs as indices alone: they say which patches a model sees."""
    indices = {one for made in model.flow.steps for one in made.results if _gives_indices(model, made, one)}
    after = (model.flow.descendants(one, stop=indices.__contains__) for one in step.results)
    reached = {one for values in after for one in values}
    return reached.isdisjoint(model.trace.outputs) and not reached.isdisjoint(indices)


def _gives_indices(model: ModelReading, step: Step, value: int) -> bool:
    """Return whether a step makes places of numbers: an order, a draw of rows; the bits that are drawn are none."""
    if model.flow.array(value).dtype.kind not in "iu":
        return False
    return any(word in step.operation for word in _ORDERING) or any(
        model.flow.array(one).dtype.kind == "f" for one in step.operands
    )


def _of_missing_maps(model: ModelReading) -> Iterator[Departure]:
    """Yield the attentions whose heads go into the stream without an output projection."""
    inside = {
        site.output_value for one in model.sublayers.all if isinstance(one, AttentionSublayer) for site in one.sites
    }
    for site in model.reader.sites:
        maps = model.sublayers.nearest_maps(site.query_value)
        if site.output_value in inside or not maps or not model.readings or _is_part_of_more(model, site):
            continue
        if not _averages(site):
            continue
        if any(_is_of_experts(model, site, mixture) for mixture in model.mixtures) or _is_of_chosen(model, site):
            continue
        if _goes_into_stream(model, site, maps[0]):
            path = path_of_maps(model.flow, [*maps, *model.sublayers.nearest_maps(site.value_value)])
            path = path if len(maps) > 1 or "." not in path else path.rpartition(".")[0]
            sentence = "the heads' outputs go into the stream without an output projection"
            item = Suspicion("attention_output", site.steps[-1], sentence, (suspected("out_proj_missing"),))
            yield departure(model, path, layer_in(path), "self_attention", item)


def _averages(site: Site) -> bool:
    """Return whether the weights of each query sum to 1: other chains of products need not be an attention."""
    return site.weights is None or bool(np.allclose(np.sum(site.weights, axis=-1), 1.0, atol=1e-3))


def _is_of_experts(model: ModelReading, site: Site, mixture: Mixture) -> bool:
    """Return whether what looks like an attention is a mixture: matrices that were chosen by scores, times rows."""
    if mixture.summed is None or site.output_value not in model.flow.descendants(mixture.router.output):
        return False
    return site.output_value in model.flow.ancestors(mixture.summed)


def _is_of_chosen(model: ModelReading, site: Site) -> bool:
    """Return whether the weights are those of what scores have chosen, as of experts, and not of all keys."""
    if site.weights_value is None:
        return False
    made = model.flow.ancestors(site.weights_value, stop=model.maps.by_output.__contains__)
    makers = (model.flow.maker(one) for one in made)
    operations = [model.flow.steps[one].operation for one in makers if one is not None]
    return any(word in operation for operation in operations for word in _CHOOSING)


def _is_part_of_more(model: ModelReading, site: Site) -> bool:
    """Return whether the weights of an attention average something besides its values, such as positions."""
    values = [] if site.weights_value is None else [site.weights_value]
    for value in values:
        for user in model.flow.users(value):
            step = model.flow.steps[user]
            if step.kind == Kind.REARRANGEMENT:
                values.extend(step.results)
            elif user not in site.steps:
                return True
    return False


def _explained_by(model: ModelReading, unused: Departure, found: Sequence[Departure]) -> bool:
    """Return whether parameters are unused because of another departure, of the same layer or of the same step."""
    if any(one.step == "cross_attention" for one in found) and _ran(model, unused.path):
        # They belong to the encoder that nothing reads.
        return True
    shared = [common_path((unused.path, one.path)) for one in found]
    return any(
        (layer_in(path) is not None and one.layer == unused.layer) or one.step == unused.step
        for path, one in zip(shared, found, strict=True)
    )


def _ran(model: ModelReading, path: str) -> bool:
    """Return whether parameters of a module were taken by a step, though no output depends on them."""
    names = (name for name in model.unused() if name.startswith(f"{path}."))
    return any(model.flow.users(model.trace.parameters[name]) for name in names)


def _each_once(departures: Sequence[Departure]) -> tuple[Departure, ...]:
    """Return departures without those that repeat a step of a part: they follow from the first."""
    kept: dict[tuple[str, int | None, str], Departure] = {}
    for one in departures:
        key = (one.path, one.layer, one.step)
        known = kept.setdefault(key, one)
        if not known.suspects and one.suspects:
            # The same place with a name says more; it keeps its turn.
            kept[key] = replace(one, place=known.place)
    return tuple(kept.values())


def _goes_into_stream(model: ModelReading, site: Site, query: LinearMap) -> bool:
    """Return whether the heads' outputs of an attention are added to what its queries are made of.

    What a gate multiplies, or is joined with other heads and read by a map, is on its way to a projection.
    """
    read = model.reader.read(query.input)
    stream = {one.value for one in leaves(read.of if isinstance(read, Norm) else read)}
    return any(
        stream <= {one.value for term in total.terms for one in leaves(term)}
        for end in model.streams.ends
        for total in each_inside(end, lambda one: isinstance(one, Output))
        if isinstance(total, Sum) and any(_mentions(term, site) for term in total.terms)
    )


def _mentions(expression: Expression, site: Site) -> bool:
    every = each_inside(expression, lambda one: isinstance(one, Attended | Output))
    return any(isinstance(one, Attended) and site in one.sites for one in every)
