"""Which conventions an operation obeys: declared ones are taken at their word, the others are found by probing.

A probe puts a question that tells the answers apart and compares what comes with the reference under each of
them. Where the answers do not tell, several values stand: the convention is unknown, and laws judge under all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.adapters.errors import AdapterError
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.conventions.keys_seen import keys_seen, shows
from veriformer.conformance_tests.conventions.model_probes import SHOWN, model_questions
from veriformer.conformance_tests.conventions.numerics_probes import numerics_found
from veriformer.conformance_tests.conventions.pairing import mixed_components, mixing_words, pairings_that_mix
from veriformer.conformance_tests.conventions.profile import Finding as Finding
from veriformer.conformance_tests.conventions.profile import Profile as Profile
from veriformer.conformance_tests.conventions.profile import finding_of, values_standing
from veriformer.conformance_tests.conventions.telling_weights import telling_gelu
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import Subject, WrongShape, standard_conventions
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.activations.inputs import ActivationInputs
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase
from veriformer.conformance_tests.operations.feed_forward.inputs import (
    FeedForwardInputs,
    FeedForwardMatrices,
    GatedMatrices,
)
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.layers.cases import LayerCase
from veriformer.conformance_tests.operations.layers.inputs import LayerInputs
from veriformer.conformance_tests.operations.masks.inputs import CausalMaskInputs
from veriformer.conformance_tests.operations.merging.cases import MergeCase
from veriformer.conformance_tests.operations.normalisation.inputs import RmsNormInputs
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase
from veriformer.conformance_tests.operations.sinusoids.inputs import PositionInputs
from veriformer.conformance_tests.refusals.choices import fixed_choices
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation

# The values that what came fits; None where the operation has nothing by which to ask.
Fits = tuple[str, ...] | None
ATTENTION = (
    "scaled_dot_product_attention",
    "grouped_query_attention",
    "attention_weights",
    "single_head_attention",
    "multi_head_attention",
)
FORWARD = "scaled_dot_product_attention"
BACKWARD = "scaled_dot_product_attention_backward"
LAYERS = ("encoder_layer", "decoder_layer")
FAILURES = (AdapterError, WrongShape)
WIDEST_FIRST = ("float64", "float32", "float16", "bfloat16")
_NAN_REACHES = {
    "ignored": "the output stays as it was",
    "value_propagates": "the output changes, though not by the hidden keys alone",
    "propagates": "the output changes, by the hidden keys alone too",
}


def examine(implementation: Implementation, operation: Operation) -> Profile:
    """Return the operation ready to be called under its conventions.

    A derived operation has those of the one it was derived from.
    """
    if operation.name in implementation.derived:
        return _as_derived(operation, examine(implementation, OPERATIONS[implementation.derived[operation.name]]))
    probe = Probe(Subject(implementation, operation, standard_conventions()))
    findings = tuple(probe.find(name) for name in operation.conventions)
    equal_widths, refuses = probe.needs_equal_widths(), probe.refuses_bias_beside_mask()
    probe.subject.calls.clear()
    return Profile(probe.subject, findings, equal_widths, refuses, probe.fixed)


def _as_derived(operation: Operation, profile: Profile) -> Profile:
    subject = replace(profile.subject, operation=operation, calls=[])
    of_both = [finding for finding in profile.findings if finding.convention in operation.conventions]
    # The numerics are asked again: the backward pass may be another kernel's.
    probe = Probe(subject)
    findings = (probe.find(f.convention) if f.convention == "numerics" else f for f in of_both)
    its = tuple(replace(finding, operation=operation.name) for finding in findings)
    subject.calls.clear()
    return replace(profile, subject=subject, findings=its)


class Probe:
    """The questions, asked in an order in which later ones may rely on earlier answers.

    A check needs the answers alone; what `_note` is told, only a subclass that shows its evidence keeps.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.operation = subject.operation
        self.dtype = subject.implementation.dtypes[0]
        # In which values lie furthest apart, beside what rounding explains.
        self.widest = min(subject.implementation.dtypes, key=WIDEST_FIRST.index)
        # A declared value may decide what an earlier question brings: tiled heads, what the layout's does.
        told = {name: subject.implementation.declared_convention(name, subject.operation.name) for name in CONVENTIONS}
        declared = {name: value for name, value in told.items() if value is not None}
        subject.conventions = {**subject.conventions, **declared}
        # What is asked must be among what is offered.
        self.fixed = fixed_choices(subject)
        self._questions: dict[str, Callable[[], Fits]] = {
            "layout": self._layout,
            "causal_alignment": self._causal_alignment,
            "causal_with_mask": self._causal_with_mask,
            "empty_row": self._empty_row,
            "masked_nonfinite": self._masked_nonfinite,
            "window_counting": self._window_counting,
            "rotary_pairing": self._rotary_pairing,
            "sinusoidal_layout": self._sinusoidal_layout,
            "softmax_dtype": self._softmax_dtype,
            "numerics": self._numerics,
            "gelu_form": self._gelu_form,
            "rms_norm_gain": self._rms_norm_gain,
        }

    def find(self, convention: str) -> Finding:
        """Return the convention's value, and let every later call obey it."""
        declared = self.subject.implementation.declared_convention(convention, self.operation.name)
        if declared is not None:
            return self._settle(convention, declared, "declared")
        found = finding_of(self.operation.name, convention, self._fitting(convention))
        self._settle(convention, found.value, found.how)
        return found

    def _fitting(self, convention: str) -> Fits:
        """Return the values that what came fits; None where there is nothing to ask."""
        question = self._questions.get(convention)
        if question is None:
            return None
        architectures = self.subject.implementation.architectures.get(self.operation.name, ())
        of_models = model_questions(self.operation.name, convention, architectures, self.widest)
        if of_models is None:
            return question()
        return self._any_of(convention, of_models) if of_models else None

    def _any_of(self, convention: str, questions: list[Any]) -> tuple[str, ...]:
        """Return what fits by questions of which each may tell, asked until one does; what fits none is wrong."""
        fits = set(CONVENTIONS[convention].value_names)
        for inputs in questions:
            fits = fits & set(self._which(convention, [inputs])) or fits
            if len(values_standing(convention, fits)) == 1:
                return tuple(fits)
        shown = SHOWN[convention](questions[-1], self._output) if convention in SHOWN else None
        if shown is not None:
            self._note(questions[-1], shown[1], shown[0])
            fits = fits & set(shown[0]) or fits
        return tuple(name for name in CONVENTIONS[convention].value_names if name in fits)

    def _settle(self, convention: str, value: str, how: str) -> Finding:
        self.subject.conventions = {**self.subject.conventions, convention: value}
        return Finding(self.operation.name, convention, value, how)

    def needs_equal_widths(self) -> bool:
        """Return whether the operation works only with values as wide as keys (declared, or found by trying)."""
        name = self.operation.name
        if name not in (*ATTENTION, BACKWARD) or name == "attention_weights":
            return False
        if self.subject.implementation.limited(name, "value_width"):
            return True
        equal, unequal = (self._inputs(3, 5, value_width=width) for width in (2, 3))
        return self._output(unequal) is None and self._output(equal) is not None

    def refuses_bias_beside_mask(self) -> bool:
        """Return whether the operation takes a mask and takes a bias but not both, which the interface allows."""
        if not self._has("mask", "bias"):
            return False
        alone = (self._inputs(3, 4, mask="padding"), self._inputs(3, 4, bias=True))
        both = self._inputs(3, 4, mask="padding", bias=True)
        return self._output(both) is None and all(self._output(inputs) is not None for inputs in alone)

    def _inputs(self, queries: int, keys: int, *, value_width: int = 2, **settings: Any) -> Any:
        if self.operation.name == "merge_attention":
            return draw_inputs(self.operation.name, MergeCase(2, 3, queries, keys, 4, self.dtype, "integers", seed=7))
        heads, kv_heads = (4, 2) if self.operation.name == "grouped_query_attention" else (3, 3)
        case = AttentionCase(
            2, heads, kv_heads, queries, keys, 2, value_width, self.dtype, "integers", seed=7, **settings
        )
        return draw_inputs(self.operation.name, self.fixed.choices.applied(case, None))

    def _output(self, inputs: Inputs) -> Array | None:
        try:
            return self.subject.call(inputs)
        except FAILURES:
            return None

    def _which(self, convention: str, questions: Iterable[Inputs], *, empty_rows: bool = False) -> tuple[str, ...]:
        """Return the accepted values under which the reference reproduces every answer; none where one is missing."""
        candidates = CONVENTIONS[convention].inferred_values
        for inputs in questions:
            output = self._output(inputs)
            if output is None:
                return ()
            candidates = tuple(v for v in candidates if self._matches(convention, v, inputs, output, empty_rows))
        return candidates

    def _matches(self, convention: str, value: str, inputs: Inputs, output: Array, empty_rows: bool = False) -> bool:
        expected = inputs.expected({**self.subject.conventions, convention: value})
        # Only rows that differ between the answers are compared, so that nothing else wrong can hide the answer.
        judged = ~expected.judged if empty_rows else expected.judged
        allowed = np.where(np.isfinite(expected.allowed), expected.allowed, 0.0)
        return compare(expected.value, output, allowed + allowed.max(), judged).holds

    def _note(self, inputs: Inputs, came: Array | str | None, fits: Iterable[str]) -> None:
        """Hear what was asked, what came, and which values would have given that."""

    def _has(self, *features: str) -> bool:
        return all(feature in self.subject.features for feature in features)

    def _layout(self) -> Fits:
        subject, answered = self.subject, []
        # Lengths, heads and widths all differ, so that no other order of axes can pass for this one.
        inputs = self._inputs(5, 7)
        for value in CONVENTIONS["layout"].value_names:
            subject.conventions = {**subject.conventions, "layout": value}
            output = self._output(inputs)
            if output is not None and self._matches("layout", value, inputs, output):
                return (value,)
            if output is not None:
                answered.append(value)
        # Whatever is wrong with the numbers, axes in another order do not fit each other.
        return tuple(answered)

    def _causal_alignment(self) -> Fits:
        lengths = ((3, 5), (5, 3), (4, 4))
        if self.operation.name == "causal_mask":
            return self._which("causal_alignment", (CausalMaskInputs(*pair) for pair in lengths))
        if not self._has("is_causal") and not self._has("window"):
            return None
        if self.operation.name == BACKWARD:
            return self._which("causal_alignment", (self._inputs(*pair, is_causal=True) for pair in lengths))
        # Without limit to the left, a window of nothing to the right is the causal flag.
        causal: dict[str, Any] = {"is_causal": True} if self._has("is_causal") else {"window": (None, 0)}
        alignments: tuple[Any, ...] = CONVENTIONS["causal_alignment"].value_names
        told: list[list[Any]] = []
        for pair in lengths:
            inputs = self._inputs(*pair, **causal)
            seen = keys_seen(inputs, self._output, self.subject.conventions)
            shown = {value: reference.causal_mask(*pair, causal_alignment=value) for value in alignments}
            fits = [value for value in alignments if shows(seen, shown[value])]
            self._note(inputs, seen, fits)
            # More queries than keys, say, may be refused; what is answered tells.
            told += [fits] if seen is not None else []
        return tuple(value for value in alignments if all(value in fits for fits in told)) if told else ()

    def _causal_with_mask(self) -> Fits:
        if not self._has("is_causal", "mask"):
            return None
        # PyTorch refuses the two together in some of its kernels only, and the widths decide which one answers.
        if any(self._refuses_pair(width) for width in (2, 3)):
            return ("rejects",)
        # A call that fails for another reason refuses nothing: what is refused is not drawn, and must be known.
        return None if self._output(self._both_masks(2)) is None else ("intersect",)

    def _refuses_pair(self, value_width: int) -> bool:
        """Return whether mask and causal flag are refused together while each alone is answered."""
        if self._output(self._both_masks(value_width)) is not None:
            return False
        alone = ({"is_causal": True}, {"mask": "padding"})
        return all(self._output(self._inputs(4, 4, value_width=value_width, **one)) is not None for one in alone)

    def _both_masks(self, value_width: int) -> Any:
        return self._inputs(4, 4, value_width=value_width, is_causal=True, mask="padding")

    def _window_counting(self) -> Fits:
        if not self._has("window"):
            return None
        return self._which("window_counting", [self._inputs(5, 5, window=(2, None)), self._inputs(6, 6, window=(1, 2))])

    def _empty_row(self) -> Fits:
        if not self._has("mask"):
            return None
        inputs = self._inputs(3, 4, mask="empty_rows", mask_shape="lengths")
        if self.operation.name == BACKWARD:
            return self._empty_row_of_gradients(inputs)
        return self._which("empty_row", [inputs], empty_rows=True)

    def _empty_row_of_gradients(self, inputs: Inputs) -> Fits:
        """Return what the output of a query without a visible key is, or may be by the gradients that it reaches."""
        implementation = self.subject.implementation
        if implementation.declares(FORWARD):
            findings = examine(implementation, OPERATIONS[FORWARD]).findings
            of_forward = next(finding for finding in findings if finding.convention == "empty_row")
            return of_forward.standing or (of_forward.value,)
        output = self._output(inputs)
        if output is None:
            return ()
        if self._matches("empty_row", "zeros", inputs, output, empty_rows=True):
            return ("zeros",)
        return ("nan",) if np.isnan(output).any() else ("mean_of_values",)

    def _masked_nonfinite(self) -> Fits:
        # Where the keys are projected from x itself, what hides in them reaches every query as well.
        if not self._has("mask") or self.fixed.choices.offered.get("context") == (False,):
            return None
        inputs = self._inputs(3, 4, mask="padding", mask_shape="keys_only")
        mask = np.ones((2, 1, 1, 4), dtype=bool)
        mask[..., 2:] = False
        inputs = replace(inputs, mask=mask)
        hidden = inputs.unseen_keys(self.subject.conventions)
        clean = self._output(inputs)
        if clean is None:
            return ()
        found = self._passed_by_nan(clean, inputs, hidden)
        if found == "ignored" and self._unchanged(clean, inputs.with_keys_replaced(~hidden, np.nan)):
            # What reads no key at all tells nothing of hidden ones.
            return ()
        # One array is both keys and values there, so that what reaches the output may have come through either.
        either = self.operation.name == "multi_head_attention" and found == "propagates"
        reaches = "the output changes" if either else _NAN_REACHES[found]
        fits = ["value_propagates", found] if either else [found]
        self._note(inputs, f"with NaN in every hidden key and value {reaches}", fits)
        return (found,)

    def _passed_by_nan(self, clean: Array, inputs: Any, hidden: Array) -> str:
        if self._unchanged(clean, inputs.with_keys_replaced(hidden, np.nan)):
            return "ignored"
        if self.operation.name == "multi_head_attention":
            return "propagates"
        keys_only = inputs.with_keys_replaced(hidden, np.nan, values=False)
        return "value_propagates" if self._unchanged(clean, keys_only) else "propagates"

    def _unchanged(self, clean: Array, inputs: Inputs) -> bool:
        output = self._output(inputs)
        return output is not None and bool(np.allclose(clean, output, rtol=0.0, atol=1e-2))

    def _rotary_pairing(self) -> Fits:
        # Four pairs at positions up to 9, where no two pairings agree; the keywords stay at what they are by default.
        case = RotaryCase(2, 3, 4, 8, self.dtype, "integers", furthest=9, seed=7)
        inputs = draw_inputs(self.operation.name, case)
        return self._which("rotary_pairing", [inputs]) or self._mixing_pairing(inputs)

    def _mixing_pairing(self, inputs: Any) -> Fits:
        """Return the pairing by which components mix with which, so that no wrong angle hides it."""
        mixing = mixed_components(inputs, self._output)
        fits = pairings_that_mix(mixing) if mixing is not None else []
        if mixing is not None:
            self._note(inputs, mixing_words(mixing), fits)
        return tuple(fits)

    def _sinusoidal_layout(self) -> Fits:
        return self._which("sinusoidal_layout", [PositionInputs(5, 8, self.dtype)])

    def _rms_norm_gain(self) -> Fits:
        x = np.array([[[1.0, -2.0, 3.0], [2.0, 0.0, -1.0]], [[0.0, 4.0, 1.0], [-1.0, 2.0, -3.0]]])
        return self._which("rms_norm_gain", [RmsNormInputs(self.dtype, x, np.array([1.0, 2.0, 3.0]), 1e-3)])

    def _gelu_form(self) -> Fits:
        """Ask at entries where the forms differ most, on axes longer than one, in networks through unit matrices."""
        x = np.arange(-4.0, 5.0, 0.25).reshape(2, 3, 6)
        if self.operation.name == "gelu":
            return self._which("gelu_form", [ActivationInputs("gelu", self.widest, x)])
        if self.operation.name in LAYERS:
            layer = self._layer(self.widest, activation="gelu")
            return self._any_of("gelu_form", [replace(layer, weights=telling_gelu(layer.weights, layer.dtype)), layer])
        identity = np.eye(x.shape[-1])
        gated = self.operation.name == "gated_feed_forward"
        weights = GatedMatrices(identity, identity, identity) if gated else FeedForwardMatrices(identity, identity)
        inputs: Inputs = FeedForwardInputs(self.operation.name, self.widest, x, weights, "gelu")
        if self.fixed.choices.offered:
            network = FeedForwardCase(2, 3, 6, 12, "gelu", dtype=self.widest, palette="normal", seed=7)
            inputs = draw_inputs(self.operation.name, self.fixed.choices.applied(network, None))
        return self._which("gelu_form", [inputs])

    def _layer(self, dtype: str, **settings: Any) -> LayerInputs:
        memory = 3 if self.operation.name == "decoder_layer" else 0
        case = LayerCase(2, 2, 4, 4, 16, memory, True, dtype=dtype, palette="normal", seed=7, **settings)
        return LayerInputs.draw(self.operation.name, self.fixed.choices.applied(case, None))

    def _softmax_dtype(self) -> Fits:
        if "float64" not in self.subject.implementation.dtypes:
            return None
        if self.operation.name in LAYERS:
            return self._which("softmax_dtype", [self._layer("float64")])
        if self.operation.name not in (*ATTENTION, BACKWARD):
            return None
        return self._which("softmax_dtype", [replace(self._inputs(5, 7), dtype="float64")])

    def _numerics(self) -> Fits:
        # What is not known to be fused is judged as eager, which allows all that fused numerics do.
        found = numerics_found(self.subject, self._output, self._note)
        return None if found is None else (found,)
