"""The probes of `inference`, put to declared conventions too, with their evidence and with values that are mistakes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from veriformer.conformance_tests.conventions.evidence import (
    Evidence,
    asked_words,
    difference_words,
    entry_words,
    keys_words,
)
from veriformer.conformance_tests.conventions.inference import FAILURES, FORWARD, LAYERS, Fits, Probe
from veriformer.conformance_tests.conventions.profile import finding_of
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.selection import WHOLE_MODELS
from veriformer.conformance_tests.core.subject import Subject
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.normalisation.inputs import LayerNormInputs
from veriformer.spec.conventions import CONVENTIONS

Told = Literal["told", "untold", "mistake", "contradicted"]

_NEEDS = {
    "mask_polarity": ("mask",),
    "causal_alignment": ("is_causal", "window"),
    "causal_with_mask": ("mask", "is_causal"),
    "empty_row": ("mask",),
    "masked_nonfinite": ("mask",),
    "window_counting": ("window",),
    "softcap_order": ("softcap",),
}
_MASKED = ("causal_with_mask", "empty_row", "masked_nonfinite")


@dataclass(frozen=True)
class Identified:
    """The value of one convention for one operation, how it is known, and what stands against it.

    `told` is "told" where the answers fit this value and no other; "untold" where they do not tell; "mistake" where
    they fit only a value that must be declared, and is not; "contradicted" where they fit another value than the
    declared one. `reason` says more about all but the first. `fits` are the values that every answer fits.
    """

    operation: str
    convention: str
    value: str
    how: str  # "declared", "inferred" or "standard"
    told: Told
    reason: str = ""
    fits: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Witness(Probe):
    """Probes that remember what was asked, what came, and what it excludes."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self.evidence: list[Evidence] = []
        self.refusals: list[str] = []
        self.mistaken_polarity = False
        self._questions |= {
            "layout": lambda: self._call_under_each("layout", self._inputs(5, 7)),
            "mask_polarity": self._mask_polarity,
            "softcap_order": self._softcap_order,
            "kv_grouping": lambda: self._call_under_each("kv_grouping", self._inputs(3, 5)),
            "layer_norm_eps": self._layer_norm_eps,
        }

    def identify(self, convention: str) -> Identified:
        """Return what is known of a convention, and let every later call obey it."""
        self.evidence, self.refusals = [], []
        declared = self.subject.implementation.declared_convention(convention, self.operation.name)
        found = self._fitting(convention)
        fits = self._fit_all(convention)
        value, how = self._value(convention, declared, found, fits)
        told, reason = self._judged(convention, declared, fits)
        # Later questions rely on what the implementation does, where it is known to be another thing than declared.
        self._settle(convention, fits[0] if told == "contradicted" else value, how)
        self.mistaken_polarity |= convention == "mask_polarity" and told == "mistake"
        self.subject.calls.clear()
        return Identified(self.operation.name, convention, value, how, told, reason, fits, tuple(self.evidence))

    def _fit_all(self, convention: str) -> tuple[str, ...]:
        if not self.evidence:
            return ()
        names = CONVENTIONS[convention].value_names
        return tuple(name for name in names if all(name in evidence.fits for evidence in self.evidence))

    def _value(self, convention: str, declared: str | None, found: Fits, fits: tuple[str, ...]) -> tuple[str, str]:
        if declared is not None:
            return declared, "declared"
        if convention == "numerics" and "fused" in fits:
            return "fused", "inferred"
        if not set(fits) & set(CONVENTIONS[convention].inferred_values):
            return CONVENTIONS[convention].standard, "standard"
        # What a check infers may be one of several that the evidence fits, as it allows what the others do.
        its = found if found is not None and len(found) == 1 and found[0] in fits else fits
        finding = finding_of(self.operation.name, convention, its)
        return finding.value, finding.how

    def _judged(self, convention: str, declared: str | None, fits: tuple[str, ...]) -> tuple[Told, str]:
        if declared is not None and fits and declared not in fits:
            return "contradicted", f"declared {declared}; what came fits {' and '.join(fits)}"
        if convention in _MASKED and self.mistaken_polarity:
            return "untold", "the mask is understood the other way round, and nothing about masks can be relied on"
        if not self.evidence:
            return "untold", self._silence(convention)
        if convention == "masked_nonfinite" and self.refusals:
            return "untold", f"a NaN behind the mask is refused: {self.refusals[0]}"
        if not fits:
            raised = f": {self.refusals[0]}" if self.refusals else "; a law says what is wrong (veriformer check)"
            return "untold", f"what came fits no value known{raised}"
        if declared is None and not set(fits) & set(CONVENTIONS[convention].inferred_values):
            return "mistake", f"what came fits {fits[0]}, which counts as a mistake unless it is declared"
        if convention == "numerics" and "eager" in fits:
            # Whoever keeps more than eager numerics ask for obeys them too.
            return "told", ""
        if len(fits) > 1:
            return "untold", f"what came fits {', '.join(fits)} alike"
        return "told", ""

    def _silence(self, convention: str) -> str:
        """Return why no question was answered."""
        if self.refusals:
            return f"the question could not be put: {self.refusals[0]}"
        needs = _NEEDS.get(convention, ())
        if needs and not all(self._has(name) for name in needs):
            missing = [name for name in needs if not self._has(name)]
            return f"the operation has no {' and no '.join(missing)}"
        if convention == "softmax_dtype" and self.operation.name not in (*WHOLE_MODELS, "softmax"):
            return "it is asked in float64, which is not among the dtypes"
        if convention == "numerics":
            return "it is asked in float16 and bfloat16, which are not among the dtypes"
        if self.operation.name in WHOLE_MODELS:
            return "none of its architectures depends on it"
        return "no question is known that would tell"

    def _output(self, inputs: Inputs) -> Array | None:
        try:
            return self.subject.call(inputs)
        except FAILURES as error:
            self.refusals.append(str(error))
            return None

    def _note(self, inputs: Inputs, came: Array | str | None, fits: Iterable[str]) -> None:
        if came is None:
            return
        words = keys_words(came) if isinstance(came, np.ndarray) else came
        self._record(inputs, words, tuple(fits), None)

    def _record(self, inputs: Inputs, came: str, fits: tuple[str, ...], result: Array | None) -> None:
        self.evidence.append(self._evidence(inputs, came, fits, result))

    def _evidence(self, inputs: Inputs, came: str, fits: tuple[str, ...], result: Array | None) -> Evidence:
        excludes = tuple(name for name in self._names if name not in fits)
        arguments = inputs.arguments()
        asked = f"{asked_words(arguments)}, in {inputs.dtype}"
        return Evidence(asked, came, fits, excludes, arguments, result)

    def _fitting(self, convention: str) -> Fits:
        self._names = CONVENTIONS[convention].value_names
        return super()._fitting(convention)

    def _any_of(self, convention: str, questions: list[Any]) -> tuple[str, ...]:
        fits = super()._any_of(convention, questions)
        # What fits no value is wrong for another reason, where another answer fits one.
        self.evidence = [evidence for evidence in self.evidence if evidence.fits] or self.evidence
        return fits

    def _which(self, convention: str, questions: Iterable[Inputs], *, empty_rows: bool = False) -> tuple[str, ...]:
        before = self.evidence
        for inputs in questions:
            output = self._output(inputs)
            if output is None:
                self.evidence = before
                return ()
            self.evidence = [*self.evidence, self._compared(convention, inputs, output, empty_rows)]
        asked = self.evidence[len(before) :]
        return tuple(name for name in self._names if all(name in evidence.fits for evidence in asked))

    def _compared(self, convention: str, inputs: Inputs, output: Array, empty_rows: bool) -> Evidence:
        names = [name for name in self._names if name != "rejects"]
        expected = {name: inputs.expected({**self.subject.conventions, convention: name}) for name in names}
        fits = tuple(name for name in names if self._matches(convention, name, inputs, output, empty_rows))
        judged = np.logical_or.reduce([~e.judged if empty_rows else e.judged for e in expected.values()])
        if convention == "softmax_dtype":
            # What is as exact as the input's precision allows was not computed in a narrower one.
            fits = ("input", "at_least_float32") if "input" in fits else fits
            came = difference_words(output, expected["input"].value, judged)
            came += f"; rounding in {inputs.dtype} explains {expected['input'].allowed.max():.2g}"
        else:
            came = entry_words(output, {name: expected[name].value for name in names}, judged)
        return self._evidence(inputs, came, fits, output)

    def _call_under_each(self, convention: str, inputs: Inputs) -> Fits:
        before, came, fits = self.subject.conventions, [], []
        expected = inputs.expected(before)
        allowed = expected.allowed + expected.allowed.max()
        answered = False
        for name in CONVENTIONS[convention].value_names:
            self.subject.conventions = {**before, convention: name}
            output = self._output(inputs)
            if output is None:
                came.append(f"as {name} it raises or has another shape")
                continue
            answered = True
            came.append(f"as {name} it {difference_words(output, expected.value, expected.judged)}")
            if compare(expected.value, output, allowed, expected.judged).holds:
                fits.append(name)
        self.subject.conventions = before
        if answered:
            self._record(inputs, "; ".join(came), tuple(fits), None)
        return tuple(fits)

    def _mask_polarity(self) -> Fits:
        if not self._has("mask"):
            return None
        inputs = self._inputs(3, 4, mask="padding", mask_shape="keys_only")
        # Neither it nor its opposite hides every key of a row.
        keys = inputs.mask.shape[-1]
        mask = (np.arange(keys) < np.array([[keys - 1], [1]])).reshape(inputs.mask.shape)
        return self._call_under_each("mask_polarity", replace(inputs, mask=mask))

    def _causal_with_mask(self) -> Fits:
        found = super()._causal_with_mask()
        if found == ("intersect",):
            # Query 1 sees other keys by both together than by either alone.
            both = replace(self._both_masks(2), mask=np.array([True, False, True, True])[None, None, None])
            return self._which("causal_with_mask", [both])
        return found

    def _refuses_pair(self, value_width: int) -> bool:
        before = len(self.refusals)
        refuses = super()._refuses_pair(value_width)
        if refuses:
            came = f"{self.refusals[before]}; with either alone it does not"
            self._record(self._both_masks(value_width), came, ("rejects",), None)
        return refuses

    def _mixing_pairing(self, inputs: Any) -> Fits:
        # That the vectors are turned in another way than any known does not tell: only which components are.
        of_the_formula, self.evidence = self.evidence, []
        found = super()._mixing_pairing(inputs)
        if not found:
            self.evidence = of_the_formula + self.evidence
        return found

    def _softcap_order(self) -> Fits:
        if not self._has("softcap", "mask"):
            return None
        return self._which("softcap_order", [self._inputs(3, 5, softcap=2.0, mask="padding")])

    def _layer_norm_eps(self) -> Fits:
        if self.operation.name in LAYERS:
            return self._which("layer_norm_eps", [self._layer(self.dtype, eps=0.5)])
        x = np.array([[[1.0, -2.0, 3.0], [2.0, 0.0, -1.0]]])
        gamma, beta = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, -1.0])
        return self._which("layer_norm_eps", [LayerNormInputs(self.dtype, x, gamma, beta, 0.5)])

    def _empty_row_of_gradients(self, inputs: Any) -> Fits:
        found = super()._empty_row_of_gradients(inputs)
        forward = self.subject.implementation.declares(FORWARD)
        if found:
            told = f"as {FORWARD} does" if forward else f"the gradients are those of {found[0]}"
            self._record(inputs, told, found, None)
        return found
