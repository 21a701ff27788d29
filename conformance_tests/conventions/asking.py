"""Asking an operation which value of a convention it follows: the calls that a question may make, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from veriformer.adapters.errors import AdapterError
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.conventions.evidence import Evidence, asked_words, difference_words, entry_words
from veriformer.conformance_tests.conventions.profile import Profile, values_standing
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.attention.case import GROUPED, AttentionCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.layers.cases import LayerCase
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.refusals.choices import Fixed, fixed_choices
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import Operation

FORWARD = "scaled_dot_product_attention"
ATTENTION = (FORWARD, "grouped_query_attention", "attention_weights", "single_head_attention", "multi_head_attention")
LAYERS = ("encoder_layer", "decoder_layer", "encoder_layer_backward", "decoder_layer_backward")
WIDEST_FIRST = ("float64", "float32", "float16", "bfloat16")
Examine = Callable[[Implementation, Operation], Profile]
# A call; and a comparison of results with each other, which returns the values that they show, and this in words.
Ask = Callable[[Any], Array | None]
Shown = Callable[[Any, Ask], tuple[tuple[str, ...], str] | None]
NO_QUESTION = "no question is known that would tell"


@dataclass(frozen=True)
class Answer:
    """The values of a convention that the results fit, None where nothing was asked, and the evidence.

    `reason` says why there is no evidence, unless calls raised: `errors` are their messages.
    """

    fits: tuple[str, ...] | None
    evidence: tuple[Evidence, ...] = ()
    reason: str = NO_QUESTION
    errors: tuple[str, ...] = ()


@dataclass
class Asking:
    """The calls that a question about `convention` may make.

    `examine` finds the conventions of another operation of the implementation. A `thorough` question goes on, for the
    sake of its evidence, when its answer is known.
    """

    subject: Subject
    fixed: Fixed
    examine: Examine
    thorough: bool = False
    convention: str = ""
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, subject: Subject, examine: Examine, *, thorough: bool = False) -> Asking:
        """Let the subject's calls obey every declared convention, and find which choices it offers."""
        # A declared value may decide how an earlier question is answered: where heads are tiled, that of the layout.
        for name in CONVENTIONS:
            declared = subject.implementation.declared_convention(name, subject.operation.name)
            subject.conventions = subject.conventions if declared is None else {**subject.conventions, name: declared}
        return cls(subject, fixed_choices(subject), examine, thorough)

    @property
    def operation(self) -> str:
        """The operation's name."""
        return self.subject.operation.name

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the convention."""
        return CONVENTIONS[self.convention].value_names

    @property
    def dtype(self) -> str:
        """The first dtype of the implementation."""
        return self.subject.implementation.dtypes[0]

    @property
    def widest(self) -> str:
        """The dtype in which the values of a convention differ by most, compared with what rounding explains."""
        return min(self.subject.implementation.dtypes, key=WIDEST_FIRST.index)

    def has(self, *features: str) -> bool:
        """Return whether the operation has all these features."""
        return all(feature in self.subject.features for feature in features)

    def settle(self, convention: str, value: str) -> None:
        """Let every later call obey a value."""
        self.subject.conventions = {**self.subject.conventions, convention: value}

    def unasked(self, *needed: str) -> Answer:
        """Return the answer where features are missing of those that are needed."""
        missing = [name for name in needed if not self.has(name)]
        return Answer(None, reason=f"the operation has no {' and no '.join(missing)}" if missing else NO_QUESTION)

    def attention(self, queries: int, keys: int, *, value_width: int = 2, **settings: Any) -> Any:
        """Return inputs of attention, or of the merging of its results; of equal lengths where it takes no others."""
        if self.subject.implementation.limited(self.operation, "unequal_lengths"):
            queries = keys = max(queries, keys)
        if self.operation in ("merge_attention", "merge_attention_backward"):
            return draw_inputs(self.operation, MergeCase(2, 3, queries, keys, 4, self.dtype, "integers", seed=7))
        heads, kv_heads = (4, 2) if self.operation in GROUPED else (3, 3)
        case = AttentionCase(
            2, heads, kv_heads, queries, keys, 2, value_width, self.dtype, "integers", seed=7, **settings
        )
        return draw_inputs(self.operation, self.fixed.choices.applied(case, None))

    def layer(self, dtype: str, **settings: Any) -> Any:
        """Return inputs of a layer, or of its backward pass."""
        memory = 3 if self.operation.startswith("decoder_layer") else 0
        case = LayerCase(2, 2, 4, 4, 16, memory, True, dtype=dtype, palette="normal", seed=7, **settings)
        return draw_inputs(self.operation, self.fixed.choices.applied(case, None))

    def result(self, inputs: Inputs) -> Array | None:
        """Return what a call returns; None where it raises or returns another shape, whose message is kept."""
        try:
            return self.subject.call(inputs)
        except (AdapterError, WrongShape) as error:
            self.errors.append(str(error))
            return None

    def evidence(self, inputs: Inputs, came: str, fits: Sequence[str], result: Array | None = None) -> Evidence:
        """Return the evidence of one call: what was asked, what came, and which values would have given that."""
        arguments = inputs.arguments()
        excludes = tuple(value for value in self.values if value not in fits)
        asked = f"{asked_words(arguments)}, in {inputs.dtype}"
        return Evidence(asked, came, tuple(fits), excludes, arguments, result)

    def expected(self, inputs: Inputs) -> dict[str, Expected]:
        """Return what the reference gives under each value that gives a result."""
        conventions = self.subject.conventions
        values = (value for value in self.values if value != "rejects")
        return {value: inputs.expected({**conventions, self.convention: value}) for value in values}

    def compared(self, questions: Iterable[Inputs], *, empty_rows: bool = False) -> Answer:
        """Return the values under which the reference gives every result; none where a call raises.

        Only rows without a visible key are compared, or only the others, so that nothing else that is wrong hides the
        answer.
        """
        evidence: list[Evidence] = []
        for inputs in questions:
            result = self.result(inputs)
            if result is None:
                return Answer(())
            expected = self.expected(inputs)
            fits = fitting(result, expected, empty_rows=empty_rows)
            judged = np.logical_or.reduce([one.judged ^ empty_rows for one in expected.values()])
            came = entry_words(result, {value: one.value for value, one in expected.items()}, judged)
            evidence.append(self.evidence(inputs, came, fits, result))
        return Answer(fitting_all(self.convention, evidence), tuple(evidence))

    def until_told(self, questions: Sequence[Any], shown: Shown | None = None) -> Answer:
        """Return the values that fit the questions, each of which may tell alone, asked until one does.

        `shown` compares results with each other where no comparison with the reference tells. A result that fits no
        value is wrong in another way, and tells nothing.
        """
        fits: set[str] = set(self.values)
        evidence: list[Evidence] = []
        for inputs in questions:
            answer = self.compared([inputs])
            evidence += answer.evidence
            fits = fits.intersection(answer.fits or ()) or fits
            if len(values_standing(self.convention, fits)) == 1:
                break
        else:
            found = shown(questions[-1], self.result) if shown else None
            if found is not None:
                evidence.append(self.evidence(questions[-1], found[1], found[0]))
                fits = fits.intersection(found[0]) or fits
        kept = [one for one in evidence if one.fits] or evidence
        return Answer(tuple(value for value in self.values if value in fits), tuple(kept))

    def under_each(self, inputs: Inputs) -> Answer:
        """Return the values under which a call, made as they ask, gives the right result; else those that return."""
        before = self.subject.conventions
        expected = inputs.expected(before)
        answered: list[str] = []
        fits: list[str] = []
        came: list[str] = []
        for value in self.values:
            self.subject.conventions = {**before, self.convention: value}
            result = self.result(inputs)
            if result is None:
                came.append(f"as {value} it raises or has another shape")
                continue
            answered.append(value)
            came.append(f"as {value} it {difference_words(result, expected.value, expected.judged)}")
            fits += fitting(result, {value: expected})
            if fits and not self.thorough:
                break
        self.subject.conventions = before
        evidence = (self.evidence(inputs, "; ".join(came), fits),) if answered else ()
        return Answer(tuple(fits or answered), evidence)


def fitting_all(convention: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the values that all evidence fits; none without evidence."""
    values = CONVENTIONS[convention].value_names
    return tuple(value for value in values if evidence and all(value in one.fits for one in evidence))


def fitting(result: Array, expected: Mapping[str, Expected], *, empty_rows: bool = False) -> tuple[str, ...]:
    """Return the values under which the reference gives a result."""
    return tuple(value for value, one in expected.items() if _reproduces(one, result, empty_rows))


def _reproduces(expected: Expected, result: Array, empty_rows: bool) -> bool:
    allowed = np.where(np.isfinite(expected.allowed), expected.allowed, 0.0)
    return compare(expected.value, result, allowed + allowed.max(), expected.judged ^ empty_rows).holds
