"""A norm of the stream itself where the other model normalises only what a sublayer reads: one thing, said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Choice, PortPart, Weight
from veriformer.conformance_tests.ports.judged import Judged
from veriformer.conformance_tests.recognition.agreement import agree

_OF_STREAM = {"norm of the embedding": "embedding norm", "norm after": "norm after"}
_SLUG = "prenorm_residual_after_norm"


def with_norms_of_the_stream(judged: Sequence[Judged]) -> None:
    """Say that a sublayer is added to the normalised stream where two findings, of two parts, mean that.

    The part before then seems to end with a norm that the other model does not have, and the sublayer to begin without
    the one that it has.
    """
    for before, one in pairwise(judged):
        stream = next((finding for finding in before.findings if finding.key in _OF_STREAM), None)
        side = None if stream is None else _only_side(stream)
        if stream is None or side is None:
            continue
        reads = next((finding for finding in one.findings if finding.key == "norm before"), None)
        if reads is not None and _only_side(reads) == 1 - side and _same_norm(stream, side, before, one):
            told = _told(one, side)
            if told is not None:
                _without(before, stream)
                one.findings = [told if finding is reads else finding for finding in one.findings]
        elif _adds_to_what_it_reads(one, side):
            _without(before, stream)


def _without(before: Judged, stream: Finding) -> None:
    """Take a norm off a part that it does not belong to, and that ends alike without it."""
    before.findings.remove(stream)
    if not before.findings:
        before.far = 0.0


def _only_side(finding: Finding) -> int | None:
    """Return which of the two models has a norm that the other one does not have."""
    values = [item.value if isinstance(item, Choice) else None for item in (finding.first, finding.second)]
    return values.index(True) if sorted(map(str, values)) == ["False", "True"] else None


def _same_norm(stream: Finding, side: int, before: Judged, one: Judged) -> bool:
    """Return whether the norm of the stream has the gain that the other model's norm before the sublayer has."""
    pairs = ((before.pair[side], _OF_STREAM[stream.key]), (one.pair[1 - side], "norm before"))
    gains = [part.by_key(f"{name}: gain") if part is not None else None for part, name in pairs]
    arrays = [gain.array for gain in gains if isinstance(gain, Weight) and gain.array is not None]
    return len(arrays) == len(gains) and agree(arrays[1], arrays[0])


def _told(one: Judged, side: int) -> Finding | None:
    choices = [_residual(part, normalised=number == side) for number, part in enumerate(one.pair)]
    return None if choices[0] is None or choices[1] is None else Finding(choices[0], choices[1])


def _residual(part: PortPart | None, *, normalised: bool) -> Choice | None:
    found = None if part is None else part.by_key("residual")
    if not isinstance(found, Choice):
        return None
    if not normalised:
        return replace(found, value="stream", words="its output is added to the stream", mistake="")
    words = "its output is added to the norm of the stream, which it reads"
    return replace(found, value="what it reads", words=words, mistake=_SLUG)


def _adds_to_what_it_reads(one: Judged, side: int) -> bool:
    """Return whether the residual of a sublayer already says that one model adds to the normalised stream."""
    residual = next((finding for finding in one.findings if finding.key == "residual"), None)
    item = None if residual is None else (residual.first, residual.second)[side]
    return isinstance(item, Choice) and item.value == "what it reads"
