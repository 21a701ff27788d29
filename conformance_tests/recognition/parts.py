"""The parts of a model: what each is, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.recognition.attention_words import attention_words
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.conditions import words_of_norm, words_of_vector
from veriformer.conformance_tests.recognition.embeddings import (
    Embedding,
    Positions,
    positions_of,
)
from veriformer.conformance_tests.recognition.ends import lacks_norm, norm_of_result
from veriformer.conformance_tests.recognition.expressions import Expression, Norm, Output, Scaled
from veriformer.conformance_tests.recognition.final_logits import final_cap, final_factor
from veriformer.conformance_tests.recognition.findings import Departure, Part, Status
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads_one_by_one import heads_one_by_one, keys_read
from veriformer.conformance_tests.recognition.image_windows import region_words
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.mixed_values import takes_a_learned_number
from veriformer.conformance_tests.recognition.mixtures import Mixture
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import NetworkReading, branches_in_words
from veriformer.conformance_tests.recognition.other_maps import parts_of_other_maps, source_in_words
from veriformer.conformance_tests.recognition.patches import NO_PATCHES, image_words, patch_words
from veriformer.conformance_tests.recognition.paths import common_path, layer_in, path_of_maps
from veriformer.conformance_tests.recognition.pooling import PooledEnd, pooled_ends, pooled_of, positions_read
from veriformer.conformance_tests.recognition.positions_kept import MOVED, REPLACED, is_replaced, moved_in
from veriformer.conformance_tests.recognition.positions_of_some import positions_of_some
from veriformer.conformance_tests.recognition.similarities import parts_of_similarities
from veriformer.conformance_tests.recognition.stream_parts import (
    norms_of,
    path_of_norm,
    summary_of,
)
from veriformer.conformance_tests.recognition.streams import leaves
from veriformer.conformance_tests.recognition.sublayers import each_inside


def parts_of(model: ModelReading, departures: Sequence[Departure]) -> Iterator[Part]:
    """Yield the parts: embeddings, norms and sublayers, and what comes after the last of them."""
    for _, embedding in model.embeddings:
        yield from _embedding_parts(model, embedding, departures)
    joined = _joined_parts(model, departures)
    for one in model.readings:
        if one.is_judged and not one.is_expert:
            yield from _norm_parts(model, one, departures)
        yield from joined.get(id(one), [_part(model, one, departures)])
    for value in model.ends_of_memories:
        yield from _final_norm(model, model.at_root(model.reader.read(value)), departures)
    for norm in model.other_norms:
        yield from _other_norm(model, norm, departures)
    for mixture in model.mixtures:
        yield _router_part(model, mixture, departures)
    yield from parts_of_other_maps(model)
    yield from parts_of_similarities(model)
    # Without a sublayer, only the last map is known to be the end of anything.
    read: set[int] = set()
    for map_ in model.ends if model.readings else model.ends[-1:]:
        stream = model.at_root(model.reader.read(map_.input))
        if stream.value not in read:
            # Several heads read the stream through one norm.
            yield from _final_norm(model, stream, departures)
        read.add(stream.value)
        yield from _end_parts(model, map_, departures)
    if not model.ends or norm_of_result(model) is not None:
        yield from _final_norms(model, departures)
    for end in pooled_ends(model):
        yield _pooled_part(model, end, departures)


def _joined_parts(model: ModelReading, departures: Sequence[Departure]) -> dict[int, list[Part]]:
    """Return the parts that stand for several sublayers, by the first of these; nothing for the others.

    They are heads that are written one by one, and runs of an expert on so few tokens that none is judged.
    """
    joined: dict[int, list[Part]] = {}
    for members in heads_one_by_one(model):
        parts = [_part(model, one, departures) for one in members]
        if len({(part.summary, part.status) for part in parts}) == 1:
            read = len(set(keys_read(members)))
            heads = f"{len(members)} heads one by one" + (f" on {read}" if read < len(members) else "")
            summary = parts[0].summary.replace("1 head", heads, 1)
            explained, steps = sum(part.explained for part in parts), sum(part.steps for part in parts)
            joined |= {id(one): [] for one in members[1:]}
            joined[id(members[0])] = [replace(parts[0], summary=summary, explained=explained, steps=steps)]
    unjudged: dict[tuple[str, int, int], list[Layered]] = {}
    for one in model.readings:
        if not one.is_judged and one.attention is None:
            unjudged.setdefault((one.path, one.layer, one.rows), []).append(one)
    for runs in (runs for runs in unjudged.values() if len(runs) > 1):
        part = _unjudged_part(runs[0])
        joined |= {id(one): [] for one in runs[1:]}
        joined[id(runs[0])] = [replace(part, summary=f"{part.summary} in each of {len(runs)} runs")]
    return joined


def _status(path: str, layer: int | None, steps: set[str], departures: Sequence[Departure]) -> Status:
    return "departs" if any(one.path == path and one.step in steps for one in departures) else "holds"


def _embedding_parts(model: ModelReading, embedding: Embedding, departures: Sequence[Departure]) -> Iterator[Part]:
    positions = positions_of(model.flow, embedding, model.width_of(embedding), model.batch)
    role, path, place = _beginning(model, embedding)
    if not role and positions is None and embedding.norm is None:
        # The model takes the vectors as they are.
        return
    # Its norm is a module of its own, and is told here.
    norm = path if embedding.norm is None else path_of_norm(model.flow, embedding.norm)
    said = {_status(one, None, {"embedding", "positions"}, departures) for one in (path, norm)}
    is_unknown = embedding.norm is not None and embedding.norm.is_unknown
    status: Status = "departs" if "departs" in said else "unrecognised" if is_unknown else "holds"
    conventions: dict[str, str | float | int | bool] = {"factor": embedding.factor}
    words = [] if not role else [role + _factor_in_words(model.flow, embedding)]
    if role == "input_projection":
        words += filter(None, [_read_by_first(model, one) for one in _maps_of(embedding)])
    if positions is not None:
        conventions["positions"] = positions.kind
        words.append(_positions_in_words(embedding, positions))
    elif some := positions_of_some(model.flow, embedding, model.width_of(embedding), model.batch):
        conventions["positions"] = some.positions.kind
        words.append(some.words)
    if embedding.norm_of_tokens is not None:
        words.append(f"{summary_of(embedding.norm_of_tokens)} of the tokens alone")
    if embedding.norm is not None:
        words.append(summary_of(embedding.norm))
    count = len(embedding.terms)
    if status == "holds" and any(is_replaced(model.flow, one.value, (embedding.value,)) for one in embedding.tokens):
        words.append(REPLACED)
        yield Part(path, role, None, ", ".join(words), conventions, "unrecognised", 0, count, place)
        return
    yield Part(path, role or "embedding", None, ", ".join(words), conventions, status, count, count, place)


def _factor_in_words(flow: Flow, embedding: Embedding) -> str:
    """Return by what the rows are multiplied; a learned number is drawn for the pass, and is not the model's."""
    if embedding.factor == 1.0:
        return ""
    steps = [flow.maker(term.value) for term in embedding.terms if isinstance(term, Scaled)]
    learned = any(step is not None and takes_a_learned_number(flow, step) for step in steps)
    return ", times a learned number" if learned else f", times {embedding.factor:.4g}"


def _read_by_first(model: ModelReading, one: LinearMap) -> str:
    """Return the patches that a stream's first map reads, or what else was made of the input before; "" for neither."""
    if patches := patch_words(model.flow, one):
        return patches
    read = model.reader.read(one.input)
    made = any(isinstance(inner, Output) for inner in each_inside(read))
    return f"of {source_in_words(model, read)}" if made else ""


def _positions_in_words(embedding: Embedding, positions: Positions) -> str:
    layout = f" ({positions.layout})" if positions.layout else ""
    start = f" from row {positions.start}" if positions.start else ""
    together = f", times {embedding.outer:.4g} too" if embedding.outer != 1.0 else ""
    return f"{positions.kind} positions{layout}{start}{together}"


def _maps_of(embedding: Embedding) -> list[LinearMap]:
    return [one.map for term in embedding.terms for one in leaves(term) if isinstance(one, Output)]


def _beginning(model: ModelReading, embedding: Embedding) -> tuple[str, str, int]:
    """Return what a stream begins with, its module, and its place; the role is "" where vectors are taken as given."""
    if embedding.tokens:
        place = min(one.lookup.step for one in embedding.tokens)
        return "token_embedding", model.path_of_embedding(embedding), place
    maps = _maps_of(embedding)
    if maps:
        return "input_projection", path_of_maps(model.flow, maps), maps[0].step
    return "", "", 0


def _norm_parts(model: ModelReading, one: Layered, departures: Sequence[Departure]) -> Iterator[Part]:
    for where, norm in norms_of(one.place):
        others = [other for other in _with_norm(model, norm.value) if other[0].layer == one.layer]
        if others[0] != (one, where):
            # One norm that two sublayers read, or that stands between them, is told once.
            continue
        path = path_of_norm(model.flow, norm) or one.path
        understood = norm.kind != "norm"
        conventions: dict[str, str | float | int | bool] = {} if norm.eps is None else {"eps": norm.eps}
        place = model.flow.maker(norm.value) or one.first_step
        status: Status = _status_of_norm(one, path, place, departures)
        status = "unrecognised" if status == "holds" and not understood else status
        role = norm.kind if understood else "unrecognised"
        places = [f"{stands.replace('_', ' ')} {other.kind}" for other, stands in others]
        words = [summary_of(norm), *words_of_norm(model.flow, norm), " and ".join(dict.fromkeys(places))]
        yield Part(path, role, one.layer, ", ".join(words), conventions, status, int(understood), 1, place)


def _with_norm(model: ModelReading, value: int) -> list[tuple[Layered, str]]:
    """Return the sublayers that a norm stands beside, and where, in order."""
    told = [one for one in model.readings if one.is_judged and not one.is_expert]
    return [(one, where) for one in told for where, norm in norms_of(one.place) if norm.value == value]


def _router_part(model: ModelReading, one: Mixture, departures: Sequence[Departure]) -> Part:
    said = any(item.operation == "mixture_of_experts" and item.layer == one.layer for item in departures)
    path = common_path(one.router.names).rpartition(".")[0] or common_path(one.router.names)
    status: Status = "departs" if said else "holds" if one.scheme else "unrecognised"
    words = f"router, {one.scheme}" if one.scheme else "router, how experts are chosen and weighed"
    words += f"; experts in one stack: {one.network}" if one.network else ""
    return Part(path, "router", one.layer, words, {}, status, int(status != "unrecognised"), 1, one.place)


def _unjudged_part(one: Layered) -> Part:
    """Return the part of an expert that too few tokens were sent to; what ran on NaN alone ran on none."""
    sent = "no token was" if one.rows == 0 else f"{counted(one.rows, 'token')} {'was' if one.rows == 1 else 'were'}"
    why = "it is given NaN" if one.rows == 0 and not one.is_expert else f"{sent} sent to it"
    words = f"feed_forward, not judged: {why}"
    return Part(one.path, "feed_forward", one.layer, words, {}, "unrecognised", 0, 0, one.first_step)


def _status_of_norm(one: Layered, path: str, place: int, departures: Sequence[Departure]) -> Status:
    """Return whether a norm holds: a departure is found by its step in the trace, or by a module that is its own."""
    said = [item for item in departures if item.step in ("norm", "embedding") and item.layer in (None, one.layer)]
    own = path not in ("", one.path)
    return "departs" if any(item.place == place or (own and item.path == path) for item in said) else "holds"


def _part(model: ModelReading, one: Layered, departures: Sequence[Departure]) -> Part:
    if one.attention is not None:
        return _attention_part(model, one, one.attention, departures)
    if not one.is_judged:
        return _unjudged_part(one)
    network = one.network
    activation = network.activation if network is not None else None
    understood = activation is not None
    role = "gated_feed_forward" if network is not None and network.gated else "feed_forward"
    residual, moved = _residual(model, one), moved_in(model.flow, one.place) is not None
    explained = len(one.place.sublayer.entries) + 2 * int(understood) + sum(residual)
    status = _sublayer_status(model, one, departures, understood=understood and not moved)
    conventions: dict[str, str | float | int | bool] = {} if activation is None else {"activation": activation}
    words = [
        role,
        _activation_in_words(model.flow, network),
        *(["parallel to the attention"] if model.is_beside_attention(one) else []),
        *_gated(model, one),
    ]
    words += [MOVED] if moved else []
    total = len(one.place.sublayer.entries) + 2 + len(residual)
    return Part(one.path, role, one.layer, ", ".join(words), conventions, status, explained, total, one.first_step)


def _residual(model: ModelReading, one: Layered) -> list[bool]:
    """Return whether a sublayer is added to the stream, at its positions; nothing where no sublayer of the model is."""
    if all(other.place.residual == "none" for other in model.readings):
        return []
    return [one.place.residual != "none" and moved_in(model.flow, one.place) is None]


def _activation_in_words(flow: Flow, network: NetworkReading | None) -> str:
    if network is None or network.activation is None:
        return "activation not recognised"
    if network.activation == "":
        return "no activation"
    if network.gate is None or network.up is None:
        return network.activation
    shift = "" if network.up.shift == 0.0 else f", linear branch + {network.up.shift:g}"
    order = f", {words}" if (words := branches_in_words(flow, network)) else ""
    return f"{'clamped ' if network.gate.limited else ''}{network.activation}{shift}{order}"


def _gated(model: ModelReading, one: Layered) -> Iterator[str]:
    """Yield that a vector of each sample multiplies what a sublayer gives."""
    if one.place.gate is not None:
        yield f"its output times {words_of_vector(model.flow, one.place.gate)}"


def _sublayer_status(model: ModelReading, one: Layered, departures: Sequence[Departure], *, understood: bool) -> Status:
    # Where several parts have one path, as without modules, what departs is told by its operation.
    own = [item for item in departures if item.operation in ("", one.kind) and item.layer == one.layer]
    sums = _sums_of(model, one)
    if any(_is_in(item, one.path) or (item.step == "residual" and item.place in sums) for item in own):
        return "departs"
    return "holds" if understood else "unrecognised"


def _is_in(item: Departure, path: str) -> bool:
    """Return whether a departure is that of a part, or of a module inside it that is no part of its own, as a norm."""
    return item.path == path or bool(path and item.step != "norm" and item.path.startswith(f"{path}."))


def _sums_of(model: ModelReading, one: Layered) -> set[int | None]:
    """Return the steps at which the stream is read for a sublayer and takes its output in."""
    place = one.place
    values = [each.value for each in (place.result, place.stream, place.input) if each is not None]
    return {place.sublayer.exit.step, one.first_step, *(model.flow.maker(value) for value in values)}


def _attention_part(
    model: ModelReading, one: Layered, reading: AttentionReading, departures: Sequence[Departure]
) -> Part:
    operands = (reading.query, reading.key, reading.value)
    understood = reading.setting is not None and all(operand.understood for operand in operands) and one.is_judged
    grouped = reading.group_count != reading.head_count
    role = "grouped_query_attention" if grouped else "multi_head_attention"
    conventions: dict[str, str | float | int | bool] = {"num_heads": reading.head_count}
    words = [role, counted(reading.head_count, "head") + (f" on {reading.group_count}" if grouped else "")]
    if one.kind == "cross_attention":
        words.insert(1, "across")
    words += attention_words(model.flow, reading, model.batch)
    words += filter(None, [region_words(model.flow, one.place, reading, model.batch)])
    conventions |= _attention_conventions(reading)
    words += _gated(model, one)
    if moved_in(model.flow, one.place) is not None:
        understood = False
        words.append(MOVED)
    fused = reading.sublayer.sites[0].weights is None
    steps = [operand.understood for operand in operands]
    steps += [reading.setting is not None] * (1 if fused else 3)
    steps += [reading.merge is not None and reading.merge.rows_kept, *_residual(model, one)]
    status = _sublayer_status(model, one, departures, understood=understood)
    return Part(
        one.path, role, one.layer, ", ".join(words), conventions, status, sum(steps), len(steps), one.first_step
    )


def _attention_conventions(reading: AttentionReading) -> dict[str, str | float | int | bool]:
    """Return what an attention does by name, for readers that are programs."""
    setting, rotation = reading.setting, reading.query.rotation
    found: dict[str, str | float | int | bool] = {}
    if setting is not None:
        found["visible_keys"] = setting.pattern
        if setting.window is not None and setting.window[0] is not None:
            found["keys_before"] = setting.window[0]
        if setting.softcap is not None:
            found["softcap"] = setting.softcap
    if rotation is not None:
        found["rotary_pairing"] = rotation.pairing
    return found


def _end_parts(model: ModelReading, one: LinearMap, departures: Sequence[Departure]) -> Iterator[Part]:
    path = common_path(one.names).rpartition(".")[0] or common_path(one.names)
    tables = {name for lookup in model.maps.lookups for name in lookup.names}
    tied = ", tied to the embedding" if set(one.names) & tables else ""
    status = _status(path, None, {"unembedding"}, departures)
    if layer_in(path) is not None and _leads_to_a_map(model, one):
        yield Part(path, "unrecognised", layer_in(path), "linear map", {}, "unrecognised", 0, 1, one.step)
        return
    later = [other.input for other in model.maps.linear if other.step > one.step]
    if status == "holds" and is_replaced(model.flow, one.output, (*later, *model.trace.outputs)):
        words = f"unembedding{tied}, {REPLACED}"
        yield Part(path, "unembedding", None, words, {"tied": bool(tied)}, "unrecognised", 0, 1, one.step)
        return
    cap, factor = final_cap(model, one), final_factor(model, one)
    times = [] if factor in (None, 1.0) else [f"logits times {factor:.4g}"]
    done = times if cap is None else [cap.words]
    image = image_words(model.flow, one, model.trace.outputs[0]) if model.trace.outputs else ""
    laid_out = [image] if image not in ("", NO_PATCHES) else []
    words = ", ".join(("unembedding" + tied, *_read_by_end(model, one), *laid_out, *done))
    yield Part(path, "unembedding", None, words, {"tied": bool(tied)}, status, 1, 1, one.step)


def _read_by_end(model: ModelReading, one: LinearMap) -> Iterator[str]:
    """Yield which positions the end of a model reads, by what they are multiplied, and that it has no norm."""
    if lacks_norm(model, one.input):
        yield "of the stream without a norm"
        return
    pooled = pooled_of(model, one.input)
    if pooled is not None:
        yield pooled.words
        return
    if some := positions_read(model, one):
        yield some
        return
    read: Expression = model.reader.read(one.input)
    factor = 1.0
    while isinstance(read, Scaled):
        factor *= read.factor
        read = read.of
    if factor != 1.0:
        yield f"of the stream times {factor:.4g}"


def _leads_to_a_map(model: ModelReading, one: LinearMap) -> bool:
    """Return whether another map reads what one gives, so that it is no end of the model."""
    after = model.flow.descendants(one.output)
    return any(other.input in after for other in model.maps.linear if other is not one)


def _pooled_part(model: ModelReading, end: PooledEnd, departures: Sequence[Departure]) -> Part:
    """Return the vector that each sample becomes."""
    place, made = model.flow.maker(end.output) or 0, model.flow.between(end.pooled.stream, end.output)
    status: Status = "departs" if any(one.place in made for one in departures) else "holds"
    return Part(model.flow.steps[place].module, "pooling", None, end.words, {}, status, 1, 1, place)


def _final_norms(model: ModelReading, departures: Sequence[Departure]) -> Iterator[Part]:
    """Yield the norms of what the model returns, where no map comes after them."""
    for output in model.trace.outputs:
        yield from _final_norm(model, model.at_root(model.reader.read(output)), departures)


def _final_norm(model: ModelReading, read: Expression, departures: Sequence[Departure]) -> Iterator[Part]:
    known = [norm.value for one in model.readings for _, norm in norms_of(one.place)]
    if not isinstance(read, Norm) or read.value in known:
        return
    path = path_of_norm(model.flow, read)
    status = _status(path, None, {"final_norm"}, departures)
    status = "unrecognised" if status == "holds" and read.is_unknown else status
    place = model.flow.maker(read.value) or 0
    layer, words = None, ", ".join([summary_of(read), *words_of_norm(model.flow, read)])
    last = _before(model, read)
    if last is not None and any(one.place.after is not None for one in model.readings if one.stack == last.stack):
        # After the last sublayer of a post-norm model stands its own norm, and no further one.
        layer, words = last.layer, f"{words}, after {last.kind}"
    conventions: dict[str, str | float | int | bool] = {} if read.eps is None else {"eps": read.eps}
    understood = read.kind != "norm"
    role = read.kind if understood else "unrecognised"
    yield Part(path, role, layer, words, conventions, status, int(understood), 1, place)


def _other_norm(model: ModelReading, norm: Norm, departures: Sequence[Departure]) -> Iterator[Part]:
    routed = {model.reader.read(one.router.input).value for one in model.mixtures}
    for part in _final_norm(model, norm, departures):
        words = f"{part.summary}, before mixture_of_experts" if norm.value in routed else part.summary
        yield replace(part, layer=layer_in(part.path), summary=words)


def _before(model: ModelReading, norm: Norm) -> Layered | None:
    """Return the last sublayer before a norm that a stack ends with."""
    inside = model.flow.ancestors(norm.value)
    before = [one for one in model.readings if one.place.sublayer.exit.output in inside]
    return before[-1] if before else None
