"""What stands out in the stream between sublayers: earlier values of it that are mixed in again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from veriformer.conformance_tests.recognition.expressions import Embedded, Expression, Norm, Scaled, Sum
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.mixed_values import takes_a_learned_number
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.streams import same, without_factor


def remarks_on_streams(model: ModelReading) -> Iterator[str]:
    """Yield which shares of what the stream is made of are read by the layers that mix it."""
    for stack in dict.fromkeys(one.stack for one in model.readings):
        told = [one for one in model.readings if one.stack == stack and one.is_judged and not one.is_expert]
        mixed = [words for one, other in pairwise(told) if (words := _mixed(model.flow, told, one, other))]
        if mixed:
            yield f"earlier values of the stream are mixed in again: {'; '.join(mixed)}"


def _mixed(flow: Flow, told: Sequence[Layered], before: Layered, one: Layered) -> str:
    """Return of what the stream that a sublayer reads is mixed; "" where it is what the one before left."""
    stream, left = _stream_of(one), before.place.result
    if stream is None or left is None or not isinstance(stream, Sum):
        return ""
    own = [term for term in stream.terms if same(_bare(term), left)]
    others = [(term, source) for term in stream.terms if term not in own and (source := _source(told, one, term))]
    if len(own) != 1 or len(others) != len(stream.terms) - 1:
        return ""
    shares = " + ".join(f"{_share(flow, term)} of {source}" for term, source in [(own[0], "the stream"), *others])
    return f"{one.path or one.kind} reads {shares}"


def _stream_of(one: Layered) -> Expression | None:
    read = one.place.input
    return read.of if isinstance(read, Norm) and one.place.before is not None else read


def _share(flow: Flow, term: Expression) -> str:
    """Return by what a term is multiplied; a learned number is drawn for the pass, and is not the model's."""
    factor, learned = 1.0, False
    while isinstance(term, Scaled):
        made = flow.maker(term.value)
        learned = learned or (made is not None and takes_a_learned_number(flow, made))
        factor *= term.factor
        term = term.of
    return "a learned share" if learned else f"{factor:.4g}"


def _source(told: Sequence[Layered], one: Layered, term: Expression) -> str:
    """Return which earlier value of the stream a term is; "" where it is none that is known."""
    bare = _bare(term)
    for other in told:
        stream = None if other is one else other.place.stream
        if stream is None:
            return ""
        if other is told[0] and any(same(each, bare) for each in (stream, *map(_bare, _terms(stream)))):
            return _beginning(bare)
        if same(stream, bare):
            return f"what {other.path or other.kind} is added to"
    return ""


def _beginning(term: Expression) -> str:
    """Return what the stream begins with, or a part of that, in words."""
    if isinstance(term, Norm):
        return "the normalised embedding" if isinstance(term.of, Embedded) else "the normalised beginning"
    return "the embedding" if isinstance(term, Embedded) else "what it begins with"


def _bare(term: Expression) -> Expression:
    return without_factor(term)[0]


def _terms(one: Expression) -> Sequence[Expression]:
    return one.terms if isinstance(one, Sum) else (one,)
