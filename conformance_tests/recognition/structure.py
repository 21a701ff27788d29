"""What the sublayers of a model are to each other: decoders that must not look ahead, memories, masks of padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.attention_aspects import same_for_all_queries
from veriformer.conformance_tests.recognition.biases import path_of_table, tells_later_keys_apart
from veriformer.conformance_tests.recognition.expressions import Embedded, Norm, Output
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.patches import patch_words
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.streams import leaves
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer
from veriformer.conformance_tests.recognition.suspicion import LIKELY, Suspicion, suspected

Found = Iterator[tuple[Layered, Suspicion]]
# Fewer queries show no mask.
_LEAST_QUERIES = 4


def structural_mistakes(flow: Flow, reader: Reader, readings: Sequence[Layered]) -> Found:
    """Yield the mistakes that sublayers make beside each other, each with the sublayer that makes it."""
    decoders = {one.stack for one in readings if one.kind == "cross_attention"}
    yield from _of_causality(reader, readings, decoders)
    yield from _of_mixed_causality([one for one in readings if one.stack not in decoders])
    yield from _of_buckets(flow, [one for one in readings if not decoders or one.stack in decoders])
    yield from _of_padding(readings, decoders)
    yield from _of_memories(flow, reader, readings, decoders)


def relations(flow: Flow, reader: Reader, one: Layered, readings: Sequence[Layered]) -> Iterator[Aspect]:
    """Yield how a sublayer stands to others, to be compared between the layers."""
    if one.kind == "feed_forward":
        beside = [
            other for other in readings if other.layer == one.layer and other.stack == one.stack and other is not one
        ]
        read = {_stream_value(reader, other) for other in beside}
        parallel = _stream_value(reader, one) in read
        words = "it reads the same stream as the attention" if parallel else "it reads what the attention left"
        yield Aspect("parallel", "norm", parallel, words, one.first_step)
    sublayer = one.place.sublayer
    if isinstance(sublayer, AttentionSublayer) and one.kind == "cross_attention":
        memory = reader.read(sublayer.reading(sublayer.key[0]).input).value
        slug = "cross_attn_uses_decoder_states" if reads_own_stream(reader, sublayer) else ""
        yield Aspect("memory", "cross_attention", memory, "it reads another memory", sublayer.key[0].step, slug)


def reads_own_stream(reader: Reader, sublayer: AttentionSublayer) -> bool:
    """Return whether keys are made of the stream that the queries are made of."""
    queries, keys = (sublayer.reading(one[0]).input for one in (sublayer.query, sublayer.key))
    return _roots(reader, keys) == _roots(reader, queries)


def _stream_value(reader: Reader, one: Layered) -> int:
    read = reader.read(one.place.sublayer.entry.input)
    return read.of.value if isinstance(read, Norm) else read.value


def _of_causality(reader: Reader, readings: Sequence[Layered], decoders: set[int]) -> Found:
    """Yield decoders that see later positions, and encoders that do not: where there is a memory, both are known.

    Keys that are made of earlier layers of the same stream, as some decoders share them, are no memory. A stream that
    begins with learned queries, as those of DETR, or with patches of an image, is decoded at once, and nothing is later
    in it; so is one that a time step conditions. Layers that run on a memory and without one, as those of
    Transformer-XL on segment after segment, are neither an encoder nor a decoder; nor is a stream whose own layers no
    causal decoder attends to, or which goes on in another one.
    """
    of_decoders = {one.path for one in readings if one.stack in decoders}
    both = {one.path for one in readings if one.stack not in decoders} & of_decoders
    for one in (each for each in readings if each.path not in both):
        setting = one.attention.setting if one.attention is not None else None
        if setting is None or not decoders or one.attention is None:
            continue
        place = min(one.attention.sublayer.sites[0].steps[0] + 1, one.attention.sublayer.sites[0].steps[-1])
        sees_all = not setting.is_causal and setting.window is None
        sees_all = sees_all and (_hides_only_keys(setting.mask) or _shows_later_keys(setting.mask))
        decodes = one.stack in decoders and not _goes_on(reader.flow, one, readings)
        if one.kind == "self_attention" and decodes and sees_all and _begins_with_inputs(reader, one):
            sentence = "the decoder's queries see later positions"
            yield one, Suspicion("mask", place, sentence, (suspected("decoder_not_causal"),))
        elif one.kind == "self_attention" and setting.is_causal and _is_translated(reader, one, readings):
            sentence = "the encoder's queries do not see later positions"
            yield one, Suspicion("mask", place, sentence, (suspected("encoder_made_causal"),))
        elif one.kind == "cross_attention" and setting.is_causal and not _is_of_own_stream(reader, one):
            sentence = "causality hides keys of the memory"
            yield one, Suspicion("mask", place, sentence, (suspected("cross_attn_causal"),))


def _goes_on(flow: Flow, one: Layered, readings: Sequence[Layered]) -> bool:
    """Return whether another stream is made of that of a sublayer, or attends to it: then it is no decoder's, the last.

    A language model is made of what looks at an image; two streams may attend to each other.
    """
    outputs = [each.place.sublayer.exit.output for each in readings if each.stack == one.stack]
    behind = {value for output in outputs for value in flow.descendants(output)}
    others = (other for other in readings if other.stack != one.stack)
    return any(entry.input in behind for other in others for entry in other.place.sublayer.entries)


def _is_translated(reader: Reader, one: Layered, readings: Sequence[Layered]) -> bool:
    """Return whether a decoder of tokens attends to all of the stream of a sublayer, which is then its encoder's.

    Where each query sees other parts of a memory, as of the patches of bytes before it, the memory is causal as well.
    """
    attending = [each for each in readings if each.kind == "cross_attention" and _attends_to(reader.flow, each, one)]
    stacks = {each.stack for each in attending}
    decoding = [each for each in readings if each.stack in stacks and each.kind == "self_attention"]
    masks = [each.attention.setting.mask for each in attending if each.attention and each.attention.setting]
    return (
        bool(decoding)
        and one.stack not in stacks
        and all(_is_causal(each) or _begins_with_inputs(reader, each) for each in decoding)
        and all(map(_hides_only_keys, masks))
    )


def _is_causal(one: Layered) -> bool:
    setting = one.attention.setting if one.attention is not None else None
    return setting is not None and setting.is_causal


def _attends_to(flow: Flow, attending: Layered, one: Layered) -> bool:
    sublayer = attending.place.sublayer
    made = flow.descendants(one.place.sublayer.exit.output)
    return isinstance(sublayer, AttentionSublayer) and sublayer.reading(sublayer.key[0]).input in made


def _of_mixed_causality(readings: Sequence[Layered]) -> Found:
    """Yield attentions of a stream that let most queries see later keys, which other layers of the stream hide."""
    settings = [
        (one, one.attention.setting)
        for one in readings
        if one.kind == "self_attention" and one.attention is not None and one.attention.setting is not None
    ]
    causal = {one.stack for one, setting in settings if setting.is_causal}
    for one, setting in settings:
        if one.stack not in causal or setting.is_causal or one.attention is None:
            continue
        later = _later_keys_seen(setting.mask)
        if setting.mask is not None and later is not None and 2 * later.sum() > later.size:
            place = min(one.attention.sublayer.sites[0].steps[0] + 1, one.attention.sublayer.sites[0].steps[-1])
            sentence = "queries see later keys, which other layers of the same stream hide"
            yield one, Suspicion("mask", place, sentence, (suspected(_slug_of(setting.mask), LIKELY),))


def _slug_of(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Return the mistake that shows queries later keys: one diagonal too many, a window of both sides, no mask."""
    if not np.triu(mask, 2).any():
        return "causal_diagonal_off_by_one"
    return "decoder_not_causal" if np.asarray(mask)[..., -1, 0].any() else "window_ignores_causal_flag"


def _of_buckets(flow: Flow, readings: Sequence[Layered]) -> Found:
    """Yield attentions of streams that are meant to be causal, whose buckets tell later keys apart."""
    for one in readings:
        setting = one.attention.setting if one.attention is not None else None
        if setting is None or one.attention is None or one.kind != "self_attention" or not setting.is_causal:
            continue
        if setting.bias is not None and tells_later_keys_apart(flow, setting):
            sentence = "half of the buckets are for later keys, which no query sees"
            place = one.attention.sublayer.sites[0].first_step
            yield one, Suspicion("logits", place, sentence, (), path_of_table(flow, setting))


def _later_keys_seen(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None) -> np.ndarray | None:
    """Return which queries but the last see a later key under a mask; None without a mask of as many keys."""
    if mask is None or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < _LEAST_QUERIES:
        return None
    return np.asarray(np.asarray(np.triu(mask, 1).any(axis=-1))[..., :-1])


def _begins_with_inputs(reader: Reader, one: Layered) -> bool:
    """Return whether the stream that a sublayer reads begins with tokens, or a map of what the model was handed."""
    flow = reader.flow
    if one.place.before is not None and one.place.before.given_gain is not None:
        return False
    for each in leaves(one.place.input):
        if isinstance(each, Embedded) and not flow.is_fixed(each.lookup.rows):
            return True
        if isinstance(each, Output) and reader.maps.by_output.keys().isdisjoint(flow.ancestors(each.map.input)):
            return flow.depends_on_input(each.map.input) and not patch_words(flow, each.map)
    return False


def _is_of_own_stream(reader: Reader, one: Layered) -> bool:
    sublayer = one.place.sublayer
    return isinstance(sublayer, AttentionSublayer) and reads_own_stream(reader, sublayer)


def _hides_only_keys(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None) -> bool:
    return mask is None or same_for_all_queries(mask)


def _shows_later_keys(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None) -> bool:
    """Return whether a mask of as many queries as keys lets a query see a later key."""
    return mask is not None and mask.shape[-1] == mask.shape[-2] and bool(np.triu(mask, 1).any())


def _of_padding(readings: Sequence[Layered], decoders: set[int]) -> Found:
    """Yield attentions over a memory whose padding is hidden elsewhere and seen here."""
    attentions = [one for one in readings if one.attention is not None and one.attention.setting is not None]
    hidden = [one for one in attentions if _padding(one) is not None]
    over_memory = [one for one in attentions if one.kind == "cross_attention" or one.stack not in decoders]
    if not decoders or not any(one in hidden for one in over_memory):
        return
    for one in over_memory:
        # Keys of another number are others: what fills up the last block of some attention is no padding of this one.
        of_same_keys = [other for other in hidden if _key_count(other) == _key_count(one)]
        if one not in hidden and one.attention is not None and of_same_keys:
            place = min(one.attention.sublayer.sites[0].steps[0] + 1, one.attention.sublayer.sites[0].steps[-1])
            sentence = "padding of the memory is seen here, though it is hidden elsewhere"
            yield one, Suspicion("mask", place, sentence, (suspected("padding_mask_ignored"),))


def _key_count(one: Layered) -> int:
    return 0 if one.attention is None else int(one.attention.heads.key.shape[2])


def _padding(one: Layered) -> object | None:
    setting = one.attention.setting if one.attention is not None else None
    return setting.mask if setting is not None and setting.mask is not None else None


def _of_memories(flow: Flow, reader: Reader, readings: Sequence[Layered], decoders: set[int]) -> Found:
    """Yield attentions that should read the memory and read their own stream, in whole or for keys or values."""
    for one in readings:
        sublayer = one.place.sublayer
        if not isinstance(sublayer, AttentionSublayer):
            continue
        projections = (sublayer.query, sublayer.key, sublayer.value)
        inputs = [sublayer.reading(maps[0]).input for maps in projections]
        query, key, value = (_roots(reader, one) for one in inputs)
        # What is made of the stream itself, such as a latent of keys and values, is no memory.
        is_own = not query.isdisjoint(flow.ancestors(inputs[2] if query == key else inputs[1]))
        # What begins with no rows is not known to be the stream of the queries, though it begins with none alike.
        if query and key != value and query in (key, value) and not is_own:
            role = "values" if query == value else "keys"
            sentence = f"the {role} come from the stream that the queries come from, the others from the memory"
            step: StepName = "value" if role == "values" else "key"
            place = (sublayer.value if role == "values" else sublayer.key)[0].step
            yield one, Suspicion(step, place, sentence, (suspected("cross_attn_uses_decoder_states"),))
    for stack in decoders:
        yield from _own_memory([one for one in readings if one.stack == stack])


def _roots(reader: Reader, value: int) -> frozenset[int]:
    """Return the rows of tables that a stream begins with."""
    return frozenset(one.value for one in leaves(reader.read(value)) if isinstance(one, Embedded))


def _own_memory(members: Sequence[Layered]) -> Found:
    """Yield attentions to themselves in layers that attend twice so, where the others attend to the memory."""
    kinds: dict[int, list[Layered]] = {}
    for one in members:
        kinds.setdefault(one.layer, []).append(one)
    for layer in kinds.values():
        own = [one for one in layer if one.kind == "self_attention"]
        if len(own) > 1 and not any(one.kind == "cross_attention" for one in layer):
            last = own[-1]
            sentence = "the attention to the memory reads the decoder's own stream"
            suspects = (suspected("cross_attn_uses_decoder_states"),)
            yield last, Suspicion("cross_attention", last.place.sublayer.first_step, sentence, suspects)
