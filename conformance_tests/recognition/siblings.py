"""Layers that do otherwise than the other layers of their stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from veriformer.conformance_tests.recognition.aspects import Aspect, OddOne, Sibling, odd_ones
from veriformer.conformance_tests.recognition.attention_aspects import attention_aspects
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.evidence import was_read
from veriformer.conformance_tests.recognition.expressions import Norm
from veriformer.conformance_tests.recognition.findings import Departure, Difference
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import (
    network_aspects,
)
from veriformer.conformance_tests.recognition.paths import layer_in
from veriformer.conformance_tests.recognition.stream_parts import (
    place_aspects,
)
from veriformer.conformance_tests.recognition.structure import relations
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected


def odd_layers(model: ModelReading) -> Iterator[Departure | Difference]:
    """Yield what a sublayer does otherwise than its siblings.

    It departs where its way is a known mistake and theirs is not. Else layers may be meant to differ, and which of two
    ways is meant is not known.
    """
    for kind, siblings in _families(model):
        by_path = {id(sibling): one for one, sibling in siblings}
        for odd in odd_ones([sibling for _, sibling in siblings]):
            one = by_path[id(odd.sibling)]
            if one.idle or _follows_from_others(model, one, odd.aspect):
                continue
            item = _suspicion_of(odd, len(siblings))
            if item.step == "norm" and not item.path:
                path = _unused_norm_in(model, one) or _path_like(model, odd, [sibling for _, sibling in siblings])
                item = replace(item, path=path)
            found = departure(model, one.path, one.layer, kind, item)
            if odd.departs and not _may_begin_so(model, one, odd):
                yield found
            elif odd.aspect.words != odd.usual.words:
                # Two ways that are not known may be one.
                yield _difference(found, odd)
    yield from _of_counts(model)


def _of_counts(model: ModelReading) -> Iterator[Difference]:
    """Yield the sublayers that a layer has besides those that the other layers of its stack have."""
    groups: dict[tuple[int, str, object], dict[int, list[Layered]]] = {}
    for one in (one for one in model.readings if one.is_judged and not one.is_expert):
        layer = layer_in(one.path)
        if layer is not None:
            groups.setdefault((one.stack, one.kind, _sizes(model, one)), {}).setdefault(layer, []).append(one)
    for (_, kind, _), layers in groups.items():
        (usual, having), *_ = Counter(len(members) for members in layers.values()).most_common()
        if 2 * having <= len(layers):
            continue
        others = tuple((members[0].path, members[0].layer) for members in layers.values() if len(members) == usual)
        for layer, members in layers.items():
            if len(members) > usual:
                own, words = (f"{count} {kind}{'s' if count > 1 else ''}" for count in (len(members), usual))
                sentence = f"layer {layer} has {own}; in {having} of {len(layers)} layers it is otherwise: {words}"
                item = Suspicion("residual", members[usual].first_step, sentence, ())
                found = departure(model, members[usual].path, layer, kind, item)
                yield Difference(found, others, own, words)


def _may_begin_so(model: ModelReading, one: Layered, odd: OddOne) -> bool:
    """Return whether a stream begins without the norm that later layers have, as that of FT-Transformer does."""
    is_first = next(other for other in model.readings if other.stack == one.stack) is one
    return is_first and odd.mistake == "norm_placement=norm_missing"


def _difference(found: Departure, odd: OddOne) -> Difference:
    others = tuple((one.aspects[odd.aspect.name].path or one.path, one.layer) for one in odd.others)
    return Difference(found, others, odd.aspect.words, odd.usual.words)


def _follows_from_others(model: ModelReading, one: Layered, aspect: Aspect) -> bool:
    """Return whether a difference from the siblings is said already, by a mistake that was found, or shows nothing."""
    if any(item.step == aspect.step for item in one.suspicions):
        return True
    if aspect.name == "parallel" and _has(one, "sublayer_output_discarded"):
        return True
    if aspect.name == "columns":
        return any(item.step in ("query", "key", "value") for item in one.suspicions)
    if aspect.name == "core" or aspect.name.endswith("understood"):
        return bool(one.suspicions)
    same = [other for other in model.readings if other.stack == one.stack]
    after = same[same.index(one) + 1 : same.index(one) + 2]
    if aspect.name.startswith("norm before"):
        # A norm of the embedding takes the place of the first norm.
        is_first = same[0] is one and isinstance(one.place.stream, Norm)
        return is_first or _has(one, "prenorm_residual_after_norm") or _has(one, "postnorm_residual_before_norm")
    slugs = ("prenorm_residual_after_norm", "postnorm_residual_before_norm")
    return aspect.name.startswith("norm after") and any(_has(other, slug) for other in after for slug in slugs)


def _families(model: ModelReading) -> Iterator[tuple[str, list[tuple[Layered, Sibling]]]]:
    """Yield the sublayers that should be alike: those of one kind in one stack, networks only with equal sizes.

    What has other sizes than a feed-forward network is another thing, such as a mixer that was not recognised. Of two
    networks in each layer, as a Conformer has, the first ones are alike, and the second ones.
    """
    groups: dict[tuple[int, str, object, bool, bool, int], list[Layered]] = {}
    seen: Counter[object] = Counter()
    for one in (one for one in model.readings if one.is_judged):
        sizes, layer = _sizes(model, one), layer_in(one.path)
        turn = 0 if one.is_expert or layer is None else seen[one.kind, sizes, layer]
        seen[one.kind, sizes, layer] += not one.is_expert
        key = (one.stack, one.kind, sizes, one.is_expert, model.is_outside_of_layers(one), turn)
        groups.setdefault(key, []).append(one)
    for (_, kind, *_), members in groups.items():
        yield kind, [(one, _sibling(model, one)) for one in members]


def _sizes(model: ModelReading, one: Layered) -> object:
    """Return the sizes of a network's matrices, however they are stored; nothing of an attention."""
    if one.network is None:
        return None
    sublayer = one.network.sublayer
    return tuple(model.flow.array(map_.weight).size for map_ in (*sublayer.inner, sublayer.exit))


def _sibling(model: ModelReading, one: Layered) -> Sibling:
    if one.is_expert and one.network is not None:
        inside = network_aspects(model.flow, one.network)
        return Sibling(one.path, one.layer, {aspect.name: aspect for aspect in inside})
    aspects: list[Aspect] = list(place_aspects(model.flow, one.place, one.kind))
    others = (other.place.after for other in model.readings if other.stack == one.stack and other is not one)
    if model.is_last(one) and (one.place.after is None or not any(others)):
        # After the last sublayer the final norm stands where the norm after would be, and perhaps that of a head.
        aspects = [aspect for aspect in aspects if "norm after" not in aspect.name]
    if not was_read(one):
        # What was not recognised may be no sublayer of the stream, and then it stands otherwise.
        aspects = [aspect for aspect in aspects if aspect.step not in ("residual", "norm")]
    aspects.extend(relations(model.flow, model.reader, one, model.readings))
    if one.attention is not None:
        aspects.extend(attention_aspects(model.flow, one.attention))
    if one.network is not None:
        aspects.extend(network_aspects(model.flow, one.network))
    return Sibling(one.path, one.layer, {aspect.name: aspect for aspect in aspects})


def _unused_norm_in(model: ModelReading, one: Layered) -> str:
    """Return the module of the unused vectors beside a sublayer: the norm that it should have."""
    around = one.path.rpartition(".")[0]
    names = [name for name in model.unused() if model.is_vector(name) and around and name.startswith(f"{around}.")]
    names = [name for name in names if not name.startswith(f"{one.path}.") and "bias" not in name]
    return names[0].rpartition(".")[0] if names else ""


def _path_like(model: ModelReading, odd: OddOne, siblings: Sequence[Sibling]) -> str:
    """Return the module that stands in a part as one stands in its siblings; "" where there is none."""
    other = next(one for one in siblings if one.aspects.get(odd.usual.name) is odd.usual)
    pieces, own, others = (path.split(".") for path in (odd.usual.path, odd.sibling.path, other.path))
    different = [i for i, (one, another) in enumerate(zip(own, others, strict=False)) if one != another]
    if not odd.usual.path or len(different) != 1 or pieces[: different[0] + 1] != others[: different[0] + 1]:
        return ""
    pieces[different[0]] = own[different[0]]
    path = ".".join(pieces)
    return path if path in model.trace.modules else ""


def _suspicion_of(odd: OddOne, total: int) -> Suspicion:
    own, usual = odd.aspect.words, odd.usual.words
    others = f"in {len(odd.others)} of {total} layers it is otherwise"
    sentence = f"{own}; {others}: {usual}" if own != usual else f"{own}; {others}"
    slug = odd.mistake
    if odd.out_of_turn:
        sentence = f"{own}; the layers take turns, and here it is the turn of another way: {usual}"
        slug = "local_global_layer_parity"
    suspects = (suspected(slug, 1.0 if total > 2 else 0.5, own),) if slug else ()
    return Suspicion(odd.aspect.step, odd.aspect.place, sentence, suspects, odd.aspect.path)


def _has(one: Layered, slug: str) -> bool:
    """Return whether a mistake was found in a sublayer."""
    return any(suspect.name == slug for item in one.suspicions for suspect in item.suspects)
