"""Calls made on purpose, to see which of them an operation refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from veriformer.adapters.errors import AdapterError, OperationLost, OperationNotTried, OperationRaised
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.refusals.features import CallFeatures, features_of
from veriformer.conformance_tests.refusals.refusal import Refusal

# Sizes on both sides of what programs demand: parities, divisors, powers of two, and limits in between.
_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65)
_SMALL = (1, 2, 3, 4)
_ROUND, _COMPILED_ROUND = 64, 32
_MOST_DRAWS = 8
_FEW = ("batch", "heads", "kv_heads", "layers")
_FREE = (
    "batch", "heads", "query_length", "key_length", "head_width", "value_width", "rows", "width", "hidden", "length",
    "memory", "classes", "vocabulary", "keys", "max_length",
)  # fmt: skip
# Otherwise a program that demands two equal sizes would answer by chance only.
_ALIKE = (("query_length", "key_length"), ("head_width", "value_width"), ("length", "memory"), ("hidden", "width"))


@dataclass(frozen=True)
class Answer:
    """The outcome of one call: whether it was refused, and the sentence of the exception."""

    call: CallFeatures
    refused: bool
    sentence: str = ""


class SurveyEnded(Exception):
    """A call did not come back; each further one might cost a process."""


class Survey:
    """The operation's own cases, in sizes on both sides of what programs demand."""

    def __init__(self, subject: Subject, limits: Limits, known: tuple[Refusal, ...] = ()) -> None:
        self._known = known
        # The calls of laws are kept for counterexamples; those of a survey are not needed.
        self._subject = replace(subject, calls=[], refusals=None)
        self._limits = replace(
            limits, compiles_per_shape=False, equal_widths=False, equal_lengths=False, turn=None, small=False
        )
        self._random = Random(limits.seed)
        self.compiles = limits.compiles_per_shape
        self._round = _COMPILED_ROUND if self.compiles else _ROUND
        self._choice = cases(_widest(limits), self._limits)

    def declares(self, limitation: str) -> bool:
        """Return whether the implementation states a limitation itself."""
        return bool(limitation) and self._subject.implementation.limited(self._limits.operation, limitation)

    def answers(self) -> Iterator[Answer]:
        """Yield the answers of a round; SurveyEnded where a call did not come back."""
        answered = 0
        for _ in range(_MOST_DRAWS * self._round):
            case = varied(self._choice.sample(self._random), self._random)
            inputs = draw_inputs(self._limits.operation, self._limits.fixed.applied(case, None))
            call = features_of(inputs)
            # A call that is known to be refused does not show what else is.
            if any(refusal.covers(call) for refusal in self._known):
                continue
            yield self._answer(inputs, call)
            answered += 1
            if answered == self._round:
                return

    def _answer(self, inputs: Inputs, call: CallFeatures) -> Answer:
        self._subject.calls.clear()
        try:
            self._subject.call(inputs)
        except OperationRaised as error:
            return Answer(call, True, str(error))
        except (OperationLost, OperationNotTried) as error:
            raise SurveyEnded(str(error)) from error
        except (AdapterError, WrongShape):
            return Answer(call, False)
        return Answer(call, False)


def _widest(limits: Limits) -> Any:
    space = own_space(limits.operation)
    if isinstance(space, AttentionSpace):
        return replace(space, window="sometimes", softcap="sometimes", sinks="sometimes")
    return space


def varied(case: Any, random: Random) -> Any:
    """Return the case with other sizes for some of its axes, some of them equal."""
    changes: dict[str, int] = {}
    for name in _FREE:
        # The width of sinusoids is even: half of it is drawn.
        if getattr(case, "d_model" if name == "width" and hasattr(case, "d_model") else name, 0) and (
            random.random() < 0.5
        ):
            changes[name] = random.choice(_SMALL if name in _FEW else _SIZES)
    for one, other in _ALIKE:
        if getattr(case, one, 0) and getattr(case, other, 0) and random.random() < 0.25:
            changes[one] = changes.get(other, getattr(case, other))
    return replace(case, **_consistent(case, changes))


def _consistent(case: Any, changes: dict[str, int]) -> dict[str, Any]:
    """Return the changes fitted to what a case demands: groups of heads, even widths, room for padding."""
    kind = type(case).__name__
    allowed: dict[str, Any] = dict(changes)
    if "heads" in changes and hasattr(case, "kv_heads"):
        group = case.heads // case.kv_heads
        allowed["kv_heads"] = max(changes["heads"] // group, 1)
        allowed["heads"] = allowed["kv_heads"] * group
    return _FITTED[kind](case, allowed) if kind in _FITTED else allowed


def _position(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {"d_model": 2 * changes.pop("width", case.d_model // 2)}


def _alibi(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    queries, keys = (changes.get(name, getattr(case, name)) for name in ("query_length", "key_length"))
    return changes | {"query_length": min(queries, keys), "key_length": max(queries, keys)}


def _rotary(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    width = changes.get("width", case.width)
    even = width + width % 2
    part = case.rotary_dim
    return changes | {"width": even, "rotary_dim": None if part is None else min(part, even)}


def _layer(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    heads, width = changes.get("heads", case.heads), changes.get("width", case.width)
    lengths = {
        name: max(changes.get(name, getattr(case, name)), 2)
        for name, padding in (("length", case.padding), ("memory", case.memory_padding))
        if padding != "none"
    }
    # Wide layers are slow, and a norm needs two components.
    return changes | lengths | {"width": min(max(width, 2) if heads == 1 else width, 17)}


def _vector(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {"width": max(changes.get("width", case.width), 2)}


def _padding(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    return {"max_length": max(*case.lengths, changes.get("max_length", case.max_length))}


def _loss(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    if case.ignore == "none":
        return changes
    several = {"classes": max(changes.get("classes", case.classes), 2)}
    return changes | several | {"length": max(changes.get("length", case.length), 2)}


def _next_token(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    # A row has one token more than targets.
    fitted = _loss(case, changes)
    return fitted | {"length": max(fitted.get("length", case.length), 2 if case.ignore == "none" else 3)}


def _model(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    # Heads, widths and padding of a whole model depend on each other: only sizes that do not are changed.
    return {name: value for name, value in changes.items() if name in ("batch", "hidden")}


def _merge(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {"keys": max(changes.get("keys", case.keys), 2)}


def _attention(case: Any, changes: dict[str, Any]) -> dict[str, Any]:
    # Projections of wide heads are slow, and show nothing more.
    return changes | {"head_width": min(changes.get("head_width", case.head_width), 24)}


_FITTED = {
    "AttentionCase": _attention,
    "PositionCase": _position,
    "AlibiCase": _alibi,
    "RotaryCase": _rotary,
    "LayerCase": _layer,
    "VectorCase": _vector,
    "PaddingMaskCase": _padding,
    "LossCase": _loss,
    "NextTokenCase": _next_token,
    "ModelCase": _model,
    "BoxCase": lambda case, changes: {},
    "MergeCase": _merge,
}
