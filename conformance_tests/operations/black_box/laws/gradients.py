"""The law of the gradients of a model of unknown formula.

What is compared is computed along one direction of each parameter: the derivative by the framework, and difference
quotients with a step h ahead and behind, whose mean is the central one. Where the function is smooth their difference
is h times its curvature, and the truncation of the mean, of the order h², is far below; at a kink, such as that of
ReLU, the derivative is that of one side, and their difference bounds the error too. With h = u^(1/3) rounding adds
about u^(2/3) of the result's size, and layers may lose two digits more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace
from veriformer.conformance_tests.operations.black_box.inputs import BoxInputs
from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_LOST = 100.0
_BENT = 2.0


@judges("gradients.value", space=BoxSpace(short=True), operations=("model",), batched=False)
def gradients(trial: Trial[BoxInputs]) -> Verdict:
    """Each parameter's gradient, along a direction, is the derivative that difference quotients show."""
    result = trial.output(trial.inputs)
    cotangent = round_to_dtype(trial.generator.normal(size=result.shape), trial.inputs.dtype)
    backward, ahead, behind = trial.output(replace(trial.inputs, cotangent=cotangent)).T
    quotient = (ahead + behind) / 2
    roundoff = UNIT_ROUNDOFF[trial.inputs.dtype]
    rounding = _LOST * roundoff ** (2 / 3) * float(np.linalg.norm(result))
    bent = _BENT * np.abs(ahead - behind)
    relative = _LOST * roundoff ** (1 / 3) * np.maximum(np.abs(backward), np.abs(quotient))
    allowed = rounding + bent + np.where(np.isfinite(relative), relative, 0.0)
    if roundoff > UNIT_ROUNDOFF["float64"]:
        # In single precision no digit of a quotient is certain, but a gradient that is missing is exactly zero.
        allowed = np.where(np.isfinite(backward) & (backward != 0.0), np.inf, allowed)
    verdict = compare(quotient, backward, allowed)
    return verdict if verdict.holds else replace(verdict, note=_where(trial, verdict, backward))


def _where(trial: Trial[BoxInputs], verdict: Verdict, backward: np.ndarray) -> str:
    """Return which parameters have a wrong gradient; expected is what difference quotients show."""
    box = trial.subject.implementation.black_box
    names = () if box is None else box.parameters
    wrong = np.flatnonzero(verdict.wrong) if verdict.wrong is not None else np.array([], dtype=int)
    named = [names[place] if place < len(names) else f"parameter {place}" for place in wrong]
    none = " which the gradient does not reach" if not backward[wrong].any() else ""
    return f"derivatives by {first_few(named)}{none or ' are wrong'}, though the result depends on them"
