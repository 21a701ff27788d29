"""The laws of what a model is wrapped as: of the model as a whole, and of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.whole_models.bound_part import BoundPart
from veriformer.adapters.whole_models.session import Session
from veriformer.adapters.whole_models.source import OfSource
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.adapters.whole_models.wrapping import Wrapped, Wrapping
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.interruption import until_interrupted
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.run.bound_parts import Bindable, bindable, bound, ways_of
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.report import Report
from veriformer.conformance_tests.run.runner import Run
from veriformer.spec.laws import LAWS

# What is called stands between the laws and the model, and keeps these by itself.
_KEPT_BY_THE_WRAPPING = ("signature", "dtype", "memory_layout")
# A mistake breaks many laws of a part, whose sizes are fixed: there is little to make smaller.
_MOST_TRIED = 200
# Drawing weights of millions of numbers takes longer than all else: a law has fewer cases then.
_NUMBERS, _FEWEST = 800_000, 2
# A module may overwrite what it is given where nothing else reads it, and the examples have sizes of their own.
_NOT_OF_A_PART = ("inputs_unchanged", "result_kept", "worked_examples")
# Laws of the whole model say these too; in a part of so many numbers, each call of them takes a tenth of a second.
_OF_THE_WHOLE, _LARGE = ("history_independence", "same_call_same_answer"), 1_000_000


def _is_about_padding(key: str) -> bool:
    return key.startswith("padding.")


def judged(session: Session, recognition: Recognition, name: str, seed: int) -> tuple[Judged, ...]:
    """Return the laws of what a recorded model is wrapped as; LoadError where it cannot be called again."""
    return tuple(_one_by_one(session, recognition, name, seed))


def judged_until_interrupted(
    session: Session, recognition: Recognition, name: str, seed: int, *, keeps: bool
) -> tuple[tuple[Judged, ...], bool]:
    """Return what `judged` does, and whether an interrupt ended it; KeyboardInterrupt passes unless laws are kept."""
    found, interrupted = until_interrupted(_one_by_one(session, recognition, name, seed, keeps=keeps), keeps=keeps)
    return found, interrupted or any(one.report.interrupted for one in found)


def _one_by_one(
    session: Session, recognition: Recognition, name: str, seed: int, *, keeps: bool = False
) -> Iterator[Judged]:
    """Yield the laws of the model as a whole, then those of its parts, until an interrupt where laws are kept."""
    parts = [bindable(one) for one in recognition.bound]
    known_idle = (*recognition.unused, *recognition.biases_of_keys)
    whole_model = WholeModel(recognition.causal, recognition.padding_token, known_idle)
    wrappings: list[Wrapping] = [whole_model, OfSource(), *ways_of(parts)]
    whole, source, *made = session.wrapped(wrappings)
    first = _judged(whole, name, seed, keeps=keeps)
    if first.report.interrupted:
        yield first
        return
    yield _with_source(first, source, seed)
    yield from _of_parts(parts, made, seed, keeps=keeps)


def parts_judged(session: Session, bound_parts: Sequence[BoundPart], seed: int) -> tuple[Judged, ...]:
    """Return the laws of some parts of a recorded model alone; LoadError where it cannot be called again."""
    parts = [bindable(one) for one in bound_parts]
    return tuple(_of_parts(parts, session.wrapped(ways_of(parts)), seed))


def _with_source(whole: Judged, source: Wrapped, seed: int) -> Judged:
    """Return the laws of a model with those on the padding of its source, where none was judged of its target."""
    known = [one for one in whole.report.results if _is_of_padding(one) and one.status != "not_declared"]
    if source.implementation is None or not whole.report.results or known:
        return whole
    others = tuple(
        law.claim.key for law in LAWS.values() if law.operation.name == "model" and not _is_about_padding(law.claim.key)
    )
    report = laws_tried(source.implementation, seed, but=others)
    results = (*(one for one in whole.report.results if not _is_of_padding(one)), *report.results)
    merged = replace(
        whole.report,
        results=results,
        findings=(*whole.report.findings, *report.findings),
        notices=(*whole.report.notices, *report.notices),
        diagnoses=(*whole.report.diagnoses, *report.diagnoses),
        seconds=whole.report.seconds + report.seconds,
    )
    return replace(whole, report=merged)


def _is_of_padding(one: LawResult) -> bool:
    return _is_about_padding(one.law.claim.key)


def _judged(made: Wrapped, name: str, seed: int, *, keeps: bool) -> Judged:
    if made.not_repeated:
        return Judged(made.path, Report(name, "", seed, "quick", (_not_repeated(made.not_repeated),)), made.reason)
    if made.implementation is None:
        return Judged(made.path, Report(name, "", seed, "quick", ()), made.reason)
    return Judged(made.path, laws_tried(made.implementation, seed, keeps_interrupted=keeps))


def _not_repeated(came: str) -> LawResult:
    """Return that the same call does not give the same answer, since something else came of it later on."""
    verdict = Verdict(
        holds=False, expected="the result of the first call", actual=f"later on, of the same call: {came}"
    )
    return LawResult(LAWS["model.same_call_same_answer"], "failed", 1, counterexample=Counterexample(None, (), verdict))


def _of_parts(
    parts: Sequence[Bindable], made: Sequence[Wrapped], seed: int, *, keeps: bool = False
) -> Iterator[Judged]:
    for part, implementation in bound(parts, made):
        cases = max(_NUMBERS // max(part.size, 1), _FEWEST)
        but = (*_NOT_OF_A_PART, *(_OF_THE_WHOLE if part.size > _LARGE else ()))
        report = laws_tried(implementation, seed, but=but, cases=cases, most_tried=_MOST_TRIED, keeps_interrupted=keeps)
        yield Judged(part.path, report, operation=part.operation)
        if report.interrupted:
            return


def laws_tried(
    implementation: Implementation,
    seed: int,
    but: tuple[str, ...] = (),
    cases: int | None = None,
    most_tried: int | None = None,
    *,
    keeps_interrupted: bool = False,
) -> Report:
    """Return the report on an implementation that was made of a model, without the laws whose keys are `but` these.

    With `keeps_interrupted` an interrupt ends it with the laws that were tried, and no mistake is looked for.
    """
    names, without = tuple(implementation.operations), (*_KEPT_BY_THE_WRAPPING, *but)
    laws = tuple(law.id for law in LAWS.values() if law.operation.name in names and law.claim.key not in without)
    selection = Selection(names, laws, effort="quick", seed=seed, cases=cases)
    run = Run(implementation, RunOptions(selection, most_tried=most_tried, keeps_interrupted=keeps_interrupted))
    report = run.report()
    return report if report.interrupted else run.diagnosed(report)
