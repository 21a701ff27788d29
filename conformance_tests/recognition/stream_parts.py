"""The norms and residuals of the stream, compared between the layers and told from known mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from veriformer.adapters.capture.trace import Kind, Step
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.conditions import conditions_of, words_of_norm, words_of_vector
from veriformer.conformance_tests.recognition.expressions import Embedded, Expression, Fixed, Norm, Scaled, Sum, Unknown
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.positions_kept import KEPT, MOVED, moved_in
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, suspected

_NORMS = ("before", "on_output", "after")
# The outputs of an attention and of a network.
_OF_A_LAYER = 2
_ROOTS = {
    "rms_norm": ("mean square", "rmsnorm_eps_outside_sqrt"),
    "layer_norm": ("variance", "layernorm_eps_outside_sqrt"),
}
_WHERE = {"before": "before", "on_output": "of the output of", "after": "after"}


def norms_of(place: Place) -> Iterator[tuple[str, Norm]]:
    """Yield the norms of a place with where they stand."""
    for where in _NORMS:
        norm = getattr(place, where)
        if norm is not None:
            yield where, norm


def place_aspects(flow: Flow, place: Place, kind: str) -> Iterator[Aspect]:
    """Yield how a sublayer stands in the stream."""
    start = place.sublayer.first_step
    exit_step = place.sublayer.exit.step
    residual = place.residual
    if residual.startswith("what it reads") and place.before is None:
        # Where nothing is normalised before, what is read is the stream.
        residual = residual.replace("what it reads", "stream", 1)
    yield from _standing(flow, place, kind, start)
    if is_unread_end(flow, place) or (residual == "none" and _is_inside_a_branch(flow, place)):
        # What the sum would be read by is not there to tell it, or it comes behind a further matrix.
        residual = "stream"
    of_residual = {"none": "nothing is added to its output", "stream": "its output is added to the stream"}
    place_of_sum = flow.maker(place.result.value) if place.result is not None else None
    yield Aspect(
        "residual",
        "residual",
        residual,
        of_residual.get(residual, f"its output is added to {residual}"),
        place_of_sum or exit_step,
        {"none": "residual_missing", "what it reads": "prenorm_residual_after_norm"}.get(residual, ""),
        rank=int(residual.startswith("stream")),
    )
    output: StepName = "feed_forward" if kind == "feed_forward" else "attention_output"
    at_factor = _step_of_factor(flow, place)
    yield Aspect(
        "factor",
        output if at_factor is not None else "residual",
        float(f"{place.factor:.4g}"),
        f"its output is multiplied by {place.factor:.4g}" if place.factor != 1.0 else "its output is added as it is",
        at_factor or place_of_sum or exit_step,
        "residual_scaled",
        rank=int(place.factor == 1.0),
    )
    gate = "" if place.gate is None else words_of_vector(flow, place.gate)
    of_gate = f"its output is multiplied by {gate}" if gate else "its output is multiplied by no vector"
    if place.result is not None:
        yield Aspect("gate of samples", output, gate, of_gate, exit_step)
    yield Aspect("output", output, place.on_the_way, "something else is done to its output", exit_step)
    moved = moved_in(flow, place)
    at_move, words = (exit_step, KEPT) if moved is None else (moved.step, MOVED)
    path = "" if moved is None else flow.steps[moved.step].module
    yield Aspect("positions kept", output, moved is None, words, at_move, rank=int(moved is None), path=path)
    # What the model was handed is a stream, though nothing is known of how it was made.
    known = not isinstance(place.stream, Unknown) or place.stream.value in flow.trace.inputs
    made = None if known or place.stream is None else flow.maker(place.stream.value)
    words = "what it is added to is no sum of the sublayers before"
    path = "" if made is None else flow.steps[made].module
    yield Aspect("stream", "residual", known, words, start if made is None else made, rank=int(known), path=path)
    for where, norm in norms_of(place):
        yield from norm_aspects(flow, norm, f"norm {_WHERE[where]} {kind}", "norm")


def _step_of_factor(flow: Flow, place: Place) -> int | None:
    """Return the step that multiplies a sublayer's output, where another module makes the sum; None elsewhere."""
    made = None if place.result is None else flow.maker(place.result.value)
    if made is None or place.factor == 1.0:
        return None
    after = list(flow.between(place.sublayer.exit.output, flow.steps[made].results[0]))
    scaling = [one for one in after if flow.steps[one].kind == Kind.OTHER]
    return scaling[0] if scaling and flow.steps[scaling[0]].module != flow.steps[made].module else None


def _standing(flow: Flow, place: Place, kind: str, start: int) -> Iterator[Aspect]:
    """Yield which norms there are around a sublayer."""
    at = flow.maker(place.input.value) or start
    for where in _NORMS:
        norm = getattr(place, where)
        words = f"{'a' if norm is not None else 'no'} norm {_WHERE[where]} the {kind}"
        path = "" if norm is None else path_of_norm(flow, norm)
        slug = ""
        if where == "before" and norm is None:
            elsewhere = place.after is not None or place.on_output is not None
            slug = "norm_after_sublayer_no_residual_norm" if elsewhere else "norm_placement=norm_missing"
        if (where != "before" or place.after is None) and norm is not None:
            slug = "norm_after_sublayer_no_residual_norm"
        rank = int((norm is None) == (place.before is not None)) if where == "after" else 0
        yield Aspect(f"norm {where}", "norm", norm is not None, words, at, slug, rank=rank, path=path)


def path_of_norm(flow: Flow, norm: Norm) -> str:
    """Return the module of a norm: that of its gain, else the one that was running."""
    for vector in (norm.gain, norm.shift):
        names = () if vector is None else flow.parameters_of(vector)
        if names:
            # Where there are no modules, the parameter's name is all that there is.
            return names[0].rpartition(".")[0] or ("" if flow.trace.modules else names[0])
    step = flow.making(_before_conditions(flow, norm))
    return step.module if step is not None else ""


def _before_conditions(flow: Flow, norm: Norm) -> int:
    """Return the value of a norm before vectors of the samples multiply and move it."""
    value, conditions = norm.value, {one.of.value for _, one in conditions_of(norm)}
    while conditions and value != norm.of.value:
        step = flow.making(value)
        if step is None or not any(flow.source(one) in conditions for one in step.operands):
            break
        value = next((one for one in step.operands if norm.of.value in flow.ancestors(one)), norm.of.value)
    return value


def norm_aspects(flow: Flow, norm: Norm, name: str, step: StepName) -> Iterator[Aspect]:
    """Yield what a norm is compared in."""
    at, path = flow.maker(norm.value) or 0, path_of_norm(flow, norm)
    yield Aspect(f"{name}: kind", step, norm.kind, norm.kind, at, rank=int(norm.kind != "norm"), path=path)
    if norm.mistake is not None or norm.kind == "norm":
        return
    if norm.eps is not None:
        eps = float(f"{norm.eps:.3g}")
        rank = 2 if eps in (1e-5, 1e-6, 1e-12) else 0
        slug = "norm_eps_value_mismatch"
        yield Aspect(f"{name}: eps", step, eps, f"eps is {eps:g}", at, slug, rank=rank, path=path, is_choice=True)
        inside = norm.placement == "inside_root"
        words = "eps is added under the root" if inside else "eps is added to the root"
        slug = _ROOTS[norm.kind][1]
        yield Aspect(f"{name}: eps place", step, inside, words, at, "" if inside else slug, rank=int(inside), path=path)
    has_gain, has_shift = norm.gain is not None, norm.shift is not None
    for word, has in (("gain", has_gain), ("shift", has_shift)):
        yield Aspect(f"{name}: {word}", step, has, f"{'a' if has else 'no'} {word}", at, rank=int(has), path=path)
    given = ", ".join(words_of_norm(flow, norm))
    yield Aspect(f"{name}: conditions", step, given, given or "no gain or shift that each sample has", at, path=path)
    plus = "the gain is one more than its parameter" if norm.one_plus else "the gain is its parameter"
    yield Aspect(
        f"{name}: one", step, norm.one_plus, plus, at, "gain_counted_from_one" if norm.one_plus else "", path=path
    )


def norm_mistakes(flow: Flow, norm: Norm, step: StepName) -> Iterator[Suspicion]:
    """Yield the mistake in a norm that was found to have one."""
    at, path = flow.maker(norm.value) or 0, path_of_norm(flow, norm)
    if norm.placement == "outside_root" and norm.eps:
        square, slug = _ROOTS[norm.kind]
        sentence = f"eps is added to the root of the {square}, and not under it"
        yield Suspicion(step, at, sentence, (suspected(slug),), path)
    if norm.kind == "rms_norm" and norm.shift is not None:
        if _is_centred_over_positions(flow, norm):
            sentence = "the mean is that over the positions, and not that of each vector"
            yield Suspicion(step, at, sentence, (suspected("layernorm_wrong_axis", LIKELY, sentence),), path)
        else:
            sentence = "a norm with a shift does not subtract the mean"
            yield Suspicion(step, at, sentence, (suspected("statistics=not_centred", LIKELY, sentence),), path)
    if norm.mistake is None or norm.is_direction or "batch" in flow.trace.modules.get(path, "").casefold():
        # What is called a batch norm has the statistics of the samples.
        return
    name = norm.mistake.name
    if name == "norm_eps_value_mismatch":
        # Which eps it is, is a choice.
        return
    sentence = norm.mistake.sentence or f"the norm is explained by {norm.mistake.decision} = {norm.mistake.option}"
    yield Suspicion(step, at, sentence, (suspected(name, sentence=sentence),), path)


def _is_centred_over_positions(flow: Flow, norm: Norm) -> bool:
    """Return whether the vectors that a norm reads have the mean 0 over the positions of each sample."""
    vectors = flow.array(norm.of.value) if norm.of.value >= 0 else np.zeros(0)
    if vectors.ndim < len(("samples", "positions", "width")) or vectors.shape[-2] < 2:
        return False
    bound = vectors.shape[-2] * flow.unit(norm.of.value) * np.abs(vectors).max(initial=0.0)
    return bool((np.abs(vectors.mean(axis=-2)) <= bound).all()) and bool(vectors.any())


def place_mistakes(flow: Flow, place: Place, every: tuple[Place, ...]) -> Iterator[Suspicion]:
    """Yield the mistakes of a place that hold whatever the other layers do."""
    at = flow.maker(place.result.value) if place.result is not None else None
    at = at or place.sublayer.exit.step
    if is_unread_end(flow, place):
        return
    if not _reaches_the_end(flow, place):
        sentence = "the sublayer's output is computed and not used"
        yield Suspicion("residual", at, sentence, (suspected("sublayer_output_discarded"),))
    elif place.residual == "none" and _may_lack_a_residual(flow, place, every):
        sentence = "what the sublayer reads is not added to its output"
        yield Suspicion("residual", at, sentence, (suspected("residual_missing"),))
    elif place.before is not None and place.after is not None and _is_mostly_post_norm(place, every):
        sentence = "the sublayer's output is added to the stream as it was before the norm"
        yield Suspicion("residual", at, sentence, (suspected("postnorm_residual_before_norm"),))
    elif place.residual == "something else" and (dropped := _dropped(place, every)):
        sentence = f"its output is added to the stream from before the {dropped}, whose own output is lost"
        yield Suspicion("residual", at, sentence, ())
    elif place.residual.startswith("what it reads") and _follows_a_pre_norm(place, every):
        sentence = "the sublayer's output is added to the normalised stream, not to the stream"
        yield Suspicion("residual", at, sentence, (suspected("prenorm_residual_after_norm"),))
    yield from _added_besides(flow, place, every)
    for _, norm in norms_of(place):
        yield from norm_mistakes(flow, norm, "norm")


def _dropped(place: Place, every: tuple[Place, ...]) -> str:
    """Return which sublayer's output is in what is read and not in what is added to; "" where that is not so."""
    read = root_of(place.input)
    if not isinstance(read, Sum) or place.stream is None:
        return ""
    kept = place.stream.terms if isinstance(place.stream, Sum) else (place.stream,)
    values, all_read = {term.value for term in kept}, {term.value for term in read.terms}
    missing = all_read - values
    givers = [
        one for one in every if one is not place and {one.sublayer.exit.output, one.sublayer.exit.product} & missing
    ]
    if len(givers) != 1 or len(missing) != 1 or not values < all_read:
        return ""
    return "attention" if isinstance(givers[0].sublayer, AttentionSublayer) else "network"


def _reaches_the_end(flow: Flow, place: Place) -> bool:
    after = flow.descendants(place.sublayer.exit.output)
    return any(output in after for output in flow.trace.outputs)


def is_unread_end(flow: Flow, place: Place) -> bool:
    """Return whether a stream ends with a sublayer, unread, while another stream goes on through the same matrix.

    Of tokens and global tokens that go through the same layers, the latter may serve the former alone. So may a text
    that images attend to, in the last layer that both have: nothing reads its stream there but the sublayer itself.
    """
    if _reaches_the_end(flow, place):
        return False
    if _is_read_by_itself_alone(flow, place):
        return True
    parameters = [flow.trace.parameters[name] for name in place.sublayer.exit.names]
    counts = any(output in flow.descendants(one) for one in parameters for output in flow.trace.outputs)
    return counts and _is_added(flow, place.sublayer.exit.output)


def _is_read_by_itself_alone(flow: Flow, place: Place) -> bool:
    """Return whether no output comes from the stream that a sublayer is added to, but through the sublayer's maps.

    Some output comes from an earlier value of it: a memory that nothing attends to is no such stream.
    """
    after = flow.descendants(place.sublayer.exit.output)
    streams = [
        next(one for one in step.operands if one not in after)
        for step in flow.steps
        if step.kind == Kind.ADDITION and len(step.operands) == 2 and len(after.keys() & set(step.operands)) == 1
    ]
    own = {value for one in place.sublayer.entries for value in (one.output, one.product)}
    reached = (flow.descendants(one, stop=own.__contains__) for one in streams[:1] if flow.depends_on_input(one))
    if not any(not any(output in found for output in flow.trace.outputs) for found in reached):
        return False
    outputs = {one for output in flow.trace.outputs for one in flow.ancestors(output)}
    return any(one in outputs and one not in flow.trace.inputs for one in _made_before(flow, streams[0]))


def _made_before(flow: Flow, value: int) -> Iterator[int]:
    """Yield the values of the pass that one was made of."""
    yield from (one for one in flow.ancestors(value) if flow.depends_on_input(one) and flow.maker(one) is not None)


def _is_added(flow: Flow, value: int) -> bool:
    """Return whether a value is added to something, however it is rearranged before."""
    sums = {one for step in flow.steps if step.kind == Kind.ADDITION for one in step.results}
    return not sums.isdisjoint(set(flow.descendants(value, stop=sums.__contains__)) - {value})


def _may_lack_a_residual(flow: Flow, place: Place, every: tuple[Place, ...]) -> bool:
    """Return whether a sublayer stands in a stream, so that what it reads should be added to its output.

    The hidden layer of a deeper network, as that of a router may be, does not; nor does one in a model without streams.
    """
    in_a_stream = "Activated" not in place.on_the_way and not _is_inside_a_branch(flow, place)
    return in_a_stream and not _is_last_without_use(place, every)


def _is_inside_a_branch(flow: Flow, place: Place) -> bool:
    """Return whether a sublayer's output is added, through a further matrix, to what was there before the sublayer.

    A block that two matrices join to the stream, as in Zamba (Glorioso et al. 2024), section 2, has none of its own.
    """
    output = place.sublayer.exit.output
    after, before = flow.descendants(output), flow.ancestors(place.input.value)
    products = {step.results[0] for step in flow.steps if "contracted" in step.attributes and _is_by_matrix(flow, step)}
    direct = flow.descendants(output, stop=products.__contains__).keys() - products
    for step in flow.steps:
        joined = [one for one in step.operands if one in after and one not in direct]
        if step.kind != Kind.ADDITION or len(joined) != 1:
            continue
        streams = [one for one in step.operands if one not in after and one in before and flow.depends_on_input(one)]
        if any(_are_alike(flow, one, joined[0]) and _are_alike(flow, one, output) for one in streams):
            return True
    return False


def _are_alike(flow: Flow, one: int, other: int) -> bool:
    """Return whether two values hold as many vectors of one width, the positions joined to the samples or not."""
    return flow.array(one).size == flow.array(other).size and flow.shape(one)[-1:] == flow.shape(other)[-1:]


def _is_by_matrix(flow: Flow, step: Step) -> bool:
    return any(not flow.depends_on_input(one) for one in step.operands)


def _follows_a_pre_norm(place: Place, every: tuple[Place, ...]) -> bool:
    """Return whether the stream before was read through a norm: then a norm here belongs to what is read, too."""
    if not isinstance(place.stream, Norm) or 2 * sum(one.before is not None for one in every) < len(every):
        return False
    return any(
        one.before is not None
        and one.on_output is None
        and one.after is not None
        and one.after.value == place.stream.value
        for one in every
    )


def _is_mostly_post_norm(place: Place, every: tuple[Place, ...]) -> bool:
    """Return whether most other sublayers read the stream as it is, and are normalised after the sum."""
    others = [one for one in every if one is not place]
    after = [one for one in others if one.before is None and one.after is not None]
    return 2 * len(after) > len(others)


def _added_besides(flow: Flow, place: Place, every: tuple[Place, ...]) -> Iterator[Suspicion]:
    """Yield what is added to the stream between two sublayers and is no sublayer's output."""
    if isinstance(place.stream, Scaled) and isinstance(place.stream.of, Sum):
        yield from _doubled(flow, place.stream)
    if not isinstance(place.stream, Sum):
        return
    values = [term.value for term in place.stream.terms]
    at = flow.maker(place.input.value) or place.sublayer.first_step
    earlier = [one.result for one in every if one is not place and isinstance(one.result, Sum)]
    inside = [one for one in earlier if _holds(values, [term.value for term in one.terms])]
    if not inside:
        return
    rest = list(values)
    for term in inside[-1].terms:
        rest.remove(term.value)
    others = [term for term in place.stream.terms if term.value in rest]
    # One vector for all positions says nothing about them: it is a bias that is added late.
    others = [term for term in others if not _is_one_vector(flow, term, place.stream)]
    if others and all(_has_a_table_of_its_own(flow, term, place.stream) for term in others):
        # As YOLOS, and others, have for each layer.
        return
    if others and all(flow.is_fixed(term.value) or _is_of_positions(flow, term) for term in others):
        sentence = "positions are added to the stream again"
        yield Suspicion("positions", at, sentence, (suspected("pe_added_every_block"),))
    elif rest and all(values.count(one) > 1 for one in rest) and not _is_way_around(place, every, inside[-1], rest):
        sentence = "the stream is added to itself"
        # Sums in sums are one, so that the stream may be a part of the sum that was made.
        made = flow.maker(place.stream.value if place.stream.value >= 0 or place.result is None else place.result.value)
        yield Suspicion("residual", at if made is None else made, sentence, ())


def _doubled(flow: Flow, stream: Scaled) -> Iterator[Suspicion]:
    """Yield that the stream of several sublayers is added to itself; what a number multiplies may be meant."""
    step = flow.making(stream.value)
    if step is not None and "add" in step.operation and len(set(step.operands)) < len(step.operands):
        sentence = "the stream is added to itself"
        yield Suspicion("residual", flow.maker(stream.value) or 0, sentence, ())


def _has_a_table_of_its_own(flow: Flow, term: Expression, stream: Sum) -> bool:
    """Return whether what is added late is learned, and its numbers are in the stream once, not from the beginning."""
    if term.value < 0 or not flow.parameters_of(term.value):
        return False
    own = flow.array(term.value).ravel()
    known = [flow.array(one.value).ravel() for one in stream.terms if one.value >= 0]
    return sum(np.array_equal(one, own) for one in known) == 1


def _is_way_around(place: Place, every: tuple[Place, ...], part: Sum, rest: Sequence[int]) -> bool:
    """Return whether the stream as it was earlier is added again behind several layers, or behind the last sublayer."""
    terms = [term.value for term in part.terms]
    if not _holds(terms, list(rest)) or not isinstance(place.result, Sum):
        return False
    own = {term.value for term in place.result.terms}
    later = (one.stream for one in every if one is not place and isinstance(one.stream, Sum))
    goes_on = any(own <= {term.value for term in one.terms} for one in later)
    return len(terms) - len(rest) > _OF_A_LAYER or not goes_on


def _holds(values: list[int], part: list[int]) -> bool:
    return all(values.count(one) >= part.count(one) for one in part) and len(values) > len(part)


def _is_one_vector(flow: Flow, term: Expression, stream: Sum) -> bool:
    width = max((flow.shape(one.value)[-1] for one in stream.terms if flow.shape(one.value)), default=0)
    return isinstance(term, Fixed) and flow.array(term.value).size <= width


def _is_of_positions(flow: Flow, term: Expression) -> bool:
    return isinstance(term, Embedded) and flow.is_fixed(term.lookup.rows)


def _is_last_without_use(place: Place, every: tuple[Place, ...]) -> bool:
    """Return whether a model has no residuals at all: then it is an architecture of its own.

    A sublayer that was handed over alone leaves the residual to the model that it is from.
    """
    return all(one.residual == "none" for one in every) and (len(every) == 1 or place.before is None)


def summary_of(norm: Norm | None) -> str:
    """Return a norm in a few words."""
    if norm is None or norm.is_direction:
        return "" if norm is None else "divided by its length"
    eps = f", eps {norm.eps:.3g}" if norm.eps else ""
    plus = ", gain 1 + γ" if norm.one_plus else ""
    return f"{norm.kind}{eps}{plus}"


def root_of(expression: Expression) -> Expression:
    """Return what a norm is of."""
    return expression.of if isinstance(expression, Norm) else expression
