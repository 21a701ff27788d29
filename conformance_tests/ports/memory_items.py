"""What is compared of the memory that an attention reads: whose stream it is, and the norms over it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from veriformer.conformance_tests.ports.items import Choice, Item
from veriformer.conformance_tests.ports.stream_items import norm_items
from veriformer.conformance_tests.recognition.expressions import Expression, Norm
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.stream_parts import path_of_norm
from veriformer.conformance_tests.recognition.structure import reads_own_stream
from veriformer.conformance_tests.recognition.sublayers import AttentionSublayer

_TIMES = ("not normalised", "normalised", "normalised twice")


def memory_items(model: ModelReading, one: Layered) -> Iterator[Item]:
    """Yield what is compared of the memory of an attention; nothing but whose stream it is where that is its own."""
    sublayer = one.place.sublayer
    if not isinstance(sublayer, AttentionSublayer) or len({other.stack for other in model.readings}) < len("AB"):
        return
    at = sublayer.key[0].step
    own = one.kind == "self_attention" or reads_own_stream(model.reader, sublayer)
    words = "its keys are made of its own stream" if own else "its keys are made of the other stream"
    yield Choice("memory", "cross_attention", at, one.path, own, words, "cross_attn_uses_decoder_states" if own else "")
    crossing = (each for each in model.readings if each.stack == one.stack and each.kind == "cross_attention")
    if not own and next(crossing, None) is one:
        yield from _norms(model, model.reader.read(sublayer.reading(sublayer.key[0]).input), one.path, at)


def _norms(model: ModelReading, memory: Expression, path: str, at: int) -> Iterator[Item]:
    """Yield how often the memory is normalised since the last sum, and the last of these norms."""
    norms = []
    read = model.at_root(memory)
    while isinstance(read, Norm):
        norms.append(read)
        read = read.of
    many = len(norms)
    own = path_of_norm(model.flow, norms[0]) if norms else path
    words = f"the memory is {_TIMES[many] if many < len(_TIMES) else f'normalised {many} times'}"
    yield Choice("norms of the memory", "final_norm", at, own, many, words, _Fewer(many))
    if norms:
        yield from norm_items(model.flow, norms[0], f"memory norm {many}", "final_norm")


class _Fewer:
    """The mistake of a memory with fewer norms than in the other model."""

    def __init__(self, many: int) -> None:
        self.many = many

    def __call__(self, usual: Hashable) -> str:
        return "missing_final_norm_prenorm" if isinstance(usual, int) and self.many < usual else ""
