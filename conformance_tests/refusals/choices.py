"""Finding which choices of the interface an operation does not offer, by calls with each of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from types import MappingProxyType
from typing import Any

from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.fixed import FixedChoices, hidden_units
from veriformer.conformance_tests.drawing.vectors import VectorCase
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.layers.cases import LayerCase
from veriformer.conformance_tests.operations.layers.inputs import LayerInputs
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs, RmsNormInputs
from veriformer.conformance_tests.refusals.predicates import (
    Given,
    Predicate,
    Proportion,
    SettingIs,
    SettingIsNot,
    Sized,
)
from veriformer.conformance_tests.refusals.refusal import Refusal
from veriformer.spec.conventions import CONVENTIONS

Chosen = Mapping[str, Any]
_EPS = (1e-5, 1e-3, 1e-1, 1e-6, 1e-12, 1e-8)
_RATIOS = (Fraction(2), Fraction(4), Fraction(5, 8), Fraction(8, 3), Fraction(1), Fraction(3))
_ACTIVATIONS = ("relu", "gelu", "silu")
_NETWORK = {"activation": _ACTIVATIONS, "biases": (False, True), "d_ff": _RATIOS}
_LAYER = {"norm_first": (True, False), **_NETWORK, "eps": _EPS}
CHOICES: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "multi_head_attention": {"biases": (False, True), "num_kv_heads": (False, True), "context": (True, False)},
        "layer_norm": {"eps": _EPS},
        "rms_norm": {"eps": _EPS},
        "feed_forward": _NETWORK,
        "gated_feed_forward": {"activation": _ACTIVATIONS, "d_ff": _RATIOS},
        "encoder_layer": _LAYER,
        "decoder_layer": _LAYER,
    }
)
# The values that remain of a choice whose limitation is declared, among those that are answered.
_AT_ITS_WORD: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"biases": (False,), "num_kv_heads": (False,), "context": (False,)}
)
# What the interface calls the sizes that an implementation may have one of.
_LETTERS = {"d_model": "E", "num_heads": "H", "num_kv_heads": "G", "d_ff": "F", "vocabulary_size": "N"}
# Cases are drawn with the first so many values of a choice; programs fix the others instead.
_DRAWN = 3
_MOST_TRIED = 400
# For an x this small eps matters under the root, so that another eps shows.
_SMALL = 2.0**-8


@dataclass(frozen=True)
class Fixed:
    """What an operation offers of its choices, and the refusals of all else."""

    choices: FixedChoices = field(default_factory=FixedChoices)
    refusals: tuple[Refusal, ...] = ()
    notices: tuple[str, ...] = ()

    def and_also(self, other: Fixed) -> Fixed:
        """Return what is fixed here or there."""
        offered = {**self.choices.offered, **other.choices.offered}
        return Fixed(
            FixedChoices(MappingProxyType(offered)),
            (*self.refusals, *other.refusals),
            (*self.notices, *other.notices),
        )


def fixed_choices(subject: Subject) -> Fixed:
    """Return which choices an operation lacks: where values raise, or are declared as lacking and give wrong results.

    A declared choice has the values for which the reference gives the same; one that is offered all the same is drawn
    freely.
    """
    declared = declared_values(subject)
    asked = _Question(subject, declared)
    if not asked.choices or asked.offers_all():
        return declared
    base = asked.first_offered()
    if base is None and asked.declared:
        # It is wrong in another way too, so that right results show nothing: its declaration is believed.
        asked = _AnyAnswer(subject, declared)
        base = asked.first_offered()
    if base is None:
        return declared
    found = {name: asked.values_offered(base, name) for name in asked.choices}
    lacking = {name: values for name, values in found.items() if set(values) != set(asked.choices[name])}
    offered = {name: _kept(name, values) for name, values in lacking.items()}
    return declared.and_also(_fixed(subject, offered, asked.choices))


def _kept(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    # Several widths, though not all, are no fixed width: refusals of sizes are found by the survey.
    return values if name != "d_ff" or len(values) == 1 else ()


class _Question:
    """Calls with one value of every choice that is not declared to have one value only."""

    def __init__(self, subject: Subject, fixed: Fixed) -> None:
        name = subject.operation.name
        implementation = subject.implementation
        self._subject = replace(subject, calls=[])
        self._fixed = fixed.choices
        self.choices = {choice: v for choice, v in CHOICES.get(name, {}).items() if choice not in self._fixed.offered}
        if "num_kv_heads" not in subject.features:
            self.choices.pop("num_kv_heads", None)
        self.declared = [choice for choice in self.choices if implementation.limited(name, choice)]

    def offers_all(self) -> bool:
        """Return whether every value that cases are drawn with is offered, in as few calls as there are values."""
        few = {name: values[:_DRAWN] for name, values in self.choices.items()}
        return all(
            self.offered({name: values[number % len(values)] for name, values in few.items()})
            for number in range(max(map(len, few.values())))
        )

    def first_offered(self) -> Chosen | None:
        """Return one value of each choice that are offered together; None where there are none."""
        return next((chosen for chosen in self._combinations() if self.offered(chosen)), None)

    def _combinations(self) -> Iterator[Chosen]:
        """Yield one value of each choice, at most so many combinations."""
        every = product(*self.choices.values())
        yield from (dict(zip(self.choices, values, strict=True)) for values in islice(every, _MOST_TRIED))

    def values_offered(self, base: Chosen, name: str) -> tuple[Any, ...]:
        """Return the values of a choice that are offered with the base values of the others."""
        values = self.choices[name]
        return tuple(value for value in values if value == base[name] or self.offered({**base, name: value}))

    def offered(self, chosen: Chosen) -> bool:
        """Return whether a call is answered; where a limitation is declared, with what the reference gives."""
        if not self._answered(self._inputs(chosen, 6)):
            return bool(chosen.get("context")) and self._takes_a_context_as_long_as_x(chosen)
        # A hidden width of one E may fit another ratio by chance.
        return "d_ff" not in chosen or self._answered(self._inputs(chosen, 4))

    def _inputs(self, chosen: Chosen, width: int) -> Any:
        return _inputs(self._subject, self._fixed, chosen, width)

    def _takes_a_context_as_long_as_x(self, chosen: Chosen) -> bool:
        """Return whether another context than x gives what it should where both are as long."""
        name, dtype = self._subject.operation.name, self._subject.implementation.dtypes[0]
        case = self._fixed.applied(_case(name, dtype, chosen, 6), None)
        # x is its own context in cases of odd seeds.
        inputs = draw_inputs(name, replace(case, key_length=case.query_length, seed=8))
        try:
            return self._agrees(inputs, self._subject.call(inputs), self._subject.conventions["gelu_form"])
        except (AdapterError, WrongShape):
            return False

    def _answered(self, inputs: Any) -> bool:
        try:
            output = self._subject.call(inputs)
        except (AdapterError, WrongShape):
            return False
        return not self.declared or self._is_right(inputs, output)

    def _is_right(self, inputs: Any, output: Any) -> bool:
        return any(self._agrees(inputs, output, form) for form in _forms(self._subject))

    def _agrees(self, inputs: Any, output: Any, form: str) -> bool:
        expected = inputs.expected({**self._subject.conventions, "gelu_form": form})
        return compare(expected.value, output, expected.allowed, expected.judged).holds


class _AnyAnswer(_Question):
    """Calls of which any answer shows that a value is offered, except where its limitation is declared."""

    def values_offered(self, base: Chosen, name: str) -> tuple[Any, ...]:
        """Return the values of a choice that are answered; of a declared one, what its limitation leaves."""
        answered = super().values_offered(base, name)
        left = _AT_ITS_WORD.get(name, answered) if name in self.declared else answered
        return tuple(value for value in answered if value in left) or answered

    def _is_right(self, inputs: Any, output: Any) -> bool:
        return True


def _forms(subject: Subject) -> tuple[str, ...]:
    if "gelu_form" not in subject.operation.conventions:
        return (subject.conventions["gelu_form"],)
    return CONVENTIONS["gelu_form"].value_names


def _inputs(subject: Subject, fixed: FixedChoices, chosen: Chosen, width: int) -> Any:
    """Return the inputs of a call with one value of each choice; networks and layers are twice as wide."""
    name, dtype = subject.operation.name, subject.implementation.dtypes[0]
    inputs = draw_inputs(name, fixed.applied(_case(name, dtype, chosen, width), None))
    if "eps" in chosen and isinstance(inputs, LayerNormInputs | RmsNormInputs | LayerInputs):
        return inputs.with_x(inputs.x * _SMALL)
    return inputs


def _case(name: str, dtype: str, chosen: Chosen, width: int) -> Any:
    # Of what is declared to have one value any value will do: that one takes its place.
    chosen = {**{choice: values[0] for choice, values in CHOICES[name].items()}, **chosen}
    if name == "multi_head_attention":
        lengths = (3, 5) if chosen["context"] else (4, 4)
        kv_heads = 2 if chosen.get("num_kv_heads") else 4
        return AttentionCase(2, 4, kv_heads, *lengths, 3, 3, dtype, "integers", biases=chosen["biases"], seed=7)
    if name in ("layer_norm", "rms_norm"):
        return VectorCase(2, 3, width, dtype, "integers", eps=chosen["eps"], seed=7)
    settings = {choice: chosen[choice] for choice in ("activation", "biases", "norm_first", "eps") if choice in chosen}
    if name.endswith("_layer"):
        memory = 3 if name == "decoder_layer" else 0
        hidden = hidden_units(chosen["d_ff"], 2 * width)
        return LayerCase(2, 2, 4, width, hidden, memory, dtype=dtype, palette="normal", seed=7, **settings)
    hidden = hidden_units(chosen["d_ff"], 2 * width)
    return FeedForwardCase(2, 3, 2 * width, hidden, dtype=dtype, palette="normal", seed=7, **settings)


def declared_values(subject: Subject) -> Fixed:
    """Return the sizes and settings that an operation is declared to have one value of."""
    name = subject.operation.name
    values = subject.implementation.fixed_for(name)
    refusals = tuple(
        Refusal(name, predicate, "is declared to have one value", declared=True)
        for choice, value in values.items()
        for predicate in _other_than(choice, value)
    )
    return Fixed(FixedChoices(MappingProxyType({choice: (value,) for choice, value in values.items()})), refusals)


def _other_than(choice: str, value: Any) -> list[Predicate]:
    """Return what is refused where a size or setting has one value."""
    if choice in _LETTERS:
        return [Sized(_LETTERS[choice], "other than", value)]
    if choice == "max_length":
        return [Sized("L", ">", value), Sized("S", ">", value)]
    if choice == "is_causal":
        return [Given("is_causal", there=False)]
    return [SettingIsNot(choice, (value,))]


def _fixed(subject: Subject, offered: dict[str, tuple[Any, ...]], choices: Mapping[str, tuple[Any, ...]]) -> Fixed:
    name = subject.operation.name
    kept = {choice: values for choice, values in offered.items() if values}
    refusals = [
        Refusal(name, predicate, "raised where that was asked", subject.implementation.limited(name, choice))
        for choice, values in kept.items()
        for predicate in _predicates(choice, values, choices[choice])
    ]
    notices = tuple(
        f"{refusal.sentence}; it was tried with {_words(choice, values)} only"
        for choice, values in kept.items()
        for refusal in refusals
        if refusal.predicate in _predicates(choice, values, choices[choice]) and not refusal.declared
    )
    return Fixed(FixedChoices(MappingProxyType(kept)), tuple(refusals), notices)


def _predicates(choice: str, values: tuple[Any, ...], choices: tuple[Any, ...]) -> list[Predicate]:
    """Return what is refused where only some values of a choice are offered."""
    if choice == "biases":
        return [Given("biases", there=not values[0])]
    if choice == "num_kv_heads":
        return [Given("num_kv_heads")]
    if choice == "context":
        return [Given("another context")]
    if choice == "d_ff":
        return [Proportion("F", values[0], "E")]
    if choice == "eps":
        return [SettingIsNot("eps", values)]
    return [SettingIs(choice, value) for value in choices if value not in values]


def _words(choice: str, values: tuple[Any, ...]) -> str:
    if choice == "biases":
        return "biases" if values[0] else "no biases"
    if choice in ("num_kv_heads", "context"):
        return {"num_kv_heads": "as many key/value heads as heads", "context": "x as its context"}[choice]
    if choice == "d_ff":
        return f"F = {values[0]}·E"
    return " or ".join(f"{choice}={value!r}" for value in values)
