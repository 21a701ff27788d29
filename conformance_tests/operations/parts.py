"""Results of several arrays, judged part by part, so that a counterexample shows the part that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.several_results import SeveralResults
from veriformer.conformance_tests.core.trial import Bound, Trial, everything
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array

Part = Callable[[Array], Array]


def parts_of(inputs: Inputs) -> Mapping[str, Part]:
    """Return what takes each array out of a result, by its name; the whole result if it is one array."""
    if isinstance(inputs, SeveralResults):
        return inputs.each_part()
    return {"": everything}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first verdict that does not hold, else the one closest to failing."""
    ordered = list(verdicts)
    failed = [verdict for verdict in ordered if not verdict.holds]
    return failed[0] if failed else max(ordered, key=lambda verdict: verdict.excess)


def agrees(trial: Trial[Inputs], inputs: Inputs, *names: str) -> Verdict:
    """Judge the parts named, or all, against the exact ones."""
    expected, output = trial.expected(inputs), trial.output(inputs)
    parts = parts_of(inputs)

    def judge(bound: Bound) -> Verdict:
        allowed = bound(inputs)
        return worst(
            compare(part(expected.value), part(output), part(allowed), part(expected.judged), name)
            for name, part in parts.items()
            if not names or name in names
        )

    return trial.within_bounds(judge)


def agrees_in(*names: str) -> Callable[[Trial[Inputs]], Verdict]:
    """Return the check that the parts named are the formula's; all of them if none is named."""

    def check(trial: Trial[Inputs]) -> Verdict:
        return agrees(trial, trial.inputs, *names)

    check.__doc__ = f"{' and '.join(names) or 'The result'}: the formula's."
    return check
