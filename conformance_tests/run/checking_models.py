"""Checking a whole model as it is: its forward pass is recorded and recognised, and its laws are tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from veriformer.adapters.capture.models import load_model, name_of
from veriformer.adapters.capture.probable import is_probably_a_model
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError, LoadError, NoOperations, NotAModel
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.matching.classes import is_never_recorded
from veriformer.adapters.whole_models.session import Session, opened
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.recognition.evidence import ENOUGH
from veriformer.conformance_tests.recognition.findings import Departure, Recognition
from veriformer.conformance_tests.recognition.samples_apart import takes_samples_apart
from veriformer.conformance_tests.run.demands import NOTHING_DEMANDED, Demands
from veriformer.conformance_tests.run.model_report import ModelReport, model_report
from veriformer.conformance_tests.run.printing import first_line
from veriformer.conformance_tests.run.report import Report

if TYPE_CHECKING:
    from veriformer.conformance_tests.run.judged import Judged

# The laws that were tried, and whether an interrupt ended that.
Tried = tuple[tuple["Judged", ...], bool]
_INTERRUPTED = "Interrupted while its laws were tried; the others were not, which says nothing of them"
_ONE_BY_ONE = "It was read on one sample, since it goes through its samples one by one"
# A loop over two samples or more takes so many times the steps of one.
_FEWER = 1.5
# The status of a report on a model of which too little was recognised.
_NOT_JUDGED = 2


def check_model(
    target: object,
    inputs: Any = None,
    keywords: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    isolation: ProcessLimits | None = None,
    demands: Demands = NOTHING_DEMANDED,
    keeps_interrupted: bool = False,
) -> ModelReport:
    """Return the report on a model: one forward pass of it, with weights drawn from `seed`, recognised, and its laws.

    `target` is the model, or what names it: "model.py:GPT", "model.py:build", "package.module:build", "model.onnx".
    `inputs` are its positional arguments, a tuple of arrays or a single one, or a dictionary of arrays by argument;
    without them it is run on those of `inputs()` in its file, or on guessed ones. With `isolation` a file is loaded
    and run in a process of its own. With `keeps_interrupted` an interrupt ends its laws with those that were tried.

    Raises NotAModel for anything else; CaptureError where a model cannot be recorded; LoadError where it cannot be
    loaded. The model is left as it was.
    """
    started = time.monotonic()
    name = name_of(target)
    SO_FAR.begin(name)
    if isolation is not None:
        _refuse_objects(target, inputs, keywords)
    with _quiet(isolation is None) as written, opened(target, inputs, keywords, seed=seed, limits=isolation) as session:
        # They import the families and the laws of all operations, which a model that cannot be recorded does without.
        from veriformer.conformance_tests.run.model_laws import judged_until_interrupted

        recognition, doubts = recognised_in(session, seed, layers_alike=demands.layers_alike)
        printed = session.printed() or written.getvalue()
        SO_FAR.doing("trying its laws")
        (laws, interrupted), refusal = _or_refusal(
            lambda: judged_until_interrupted(session, recognition, name, seed, keeps=keeps_interrupted)
        )
    SO_FAR.forget(name)
    notes = [f"{note[:1].upper()}{note[1:]}" for note in (*session.trace.notes, *recognition.remarks)]
    report = model_report(
        name,
        recognition,
        laws,
        seed=seed,
        notes=(*notes, *doubts, *refusal, *_printed(name, printed), *([_INTERRUPTED] if interrupted else [])),
        seconds=time.monotonic() - started,
        source=target if isinstance(target, str) else None,
        demands=demands,
    )
    return replace(report, interrupted=interrupted)


def recognised_in(session: Session, seed: int, *, layers_alike: bool = False) -> tuple[Recognition, tuple[str, ...]]:
    """Return what a model was read as, and sentences about how, and about departures that a second run does not show.

    Only a model that departs, or of which layers differ, is run again, with other weights and inputs.
    """
    from veriformer.conformance_tests.recognition.recognise import recognised_twice
    from veriformer.conformance_tests.run.attention_alone import NOTE, completed

    trace, found = completed(session.trace, layers_alike=layers_alike)
    notes = (NOTE,) if trace is not session.trace else ()
    alone = _on_one_sample(session, seed, found, layers_alike=layers_alike)
    if alone is not None:
        (trace, found), notes = alone, (_ONE_BY_ONE,)
    if not found.departures and not found.differences:
        return found, notes
    try:
        again, _ = completed(session.again(seed + 1, one_sample=alone is not None))
    except CaptureError:
        # The model runs on its first inputs alone.
        return found, notes
    twice = replace(recognised_twice(trace, again, layers_alike=layers_alike), bound=found.bound)
    lost = [one for one in found.departures if one not in twice.departures]
    return twice, (*notes, *dict.fromkeys(map(_in_doubt, lost)))


def _on_one_sample(
    session: Session, seed: int, found: Recognition, *, layers_alike: bool
) -> tuple[Trace, Recognition] | None:
    """Return the record of a model that goes through its samples in a loop on one alone, as read; else None.

    A model that is not seen to do so is tried where too little of it was recognised, or it departs, and counts if one
    sample takes far fewer steps; both on inputs that were guessed.
    """
    from veriformer.conformance_tests.run.attention_alone import completed

    is_seen = takes_samples_apart(session.trace)
    if _is_recognised(found) and not is_seen and not found.departures:
        return None
    try:
        trace, alone = completed(session.again(seed, one_sample=True), layers_alike=layers_alike)
    except CaptureError:
        return None
    loops = is_seen or _FEWER * len(trace.steps) < len(session.trace.steps)
    return (trace, alone) if loops and _is_recognised(alone) else None


def _is_recognised(found: Recognition) -> bool:
    return found.has_transformer_part and found.share_understood >= ENOUGH


def _in_doubt(one: Departure) -> str:
    where = one.path or "the model"
    return f"Not held against {where}, since a second run on other numbers did not show it: {one.sentence}"


def _or_refusal(laws: Callable[[], Tried]) -> tuple[Tried, tuple[str, ...]]:
    """Return the laws of a model, or the sentence that says why it cannot be called again."""
    try:
        return laws(), ()
    except LoadError as error:
        return ((), False), (f"No laws of the model as a whole were tried: {error}",)


def _refuse_objects(target: object, inputs: Any, keywords: Mapping[str, Any] | None) -> None:
    if not isinstance(target, str):
        kind = type(target).__name__
        raise LoadError(f"a {kind} lives in this process; name its file or its import path to isolate it")
    if inputs is not None or keywords:
        raise LoadError(f"{target}: inputs of this process cannot go to another; write a function inputs() in its file")


@contextmanager
def _quiet(here: bool) -> Iterator[StringIO]:
    """Keep back what a model prints in this process."""
    written = StringIO()
    if not here:
        yield written
        return
    with redirect_stdout(written), redirect_stderr(written):
        yield written


class NotForModels(LoadError, ValueError):
    """Options about laws were given for what has no operations."""


def checked(
    target: object,
    as_model: Callable[[], Report],
    as_implementation: Callable[[], Report],
    about_laws: Sequence[str] = (),
) -> Report:
    """Return the report on a model or on an implementation of operations, whichever the target is.

    What is probably a model is tried as one first, since each trial of a file takes a process; but not with options
    `about_laws`, for which NotForModels is raised where there are no laws to be tried.
    """
    if about_laws:
        return _with_laws(target, as_implementation, about_laws)
    if isinstance(target, str) and is_never_recorded(target):
        return as_implementation()
    if _may_be_model(target):
        try:
            report = as_model()
        except NotAModel as no_model:
            return _or_neither(as_implementation, no_model)
        return _or_the_operation(report, target, as_implementation)
    try:
        return as_implementation()
    except NoOperations as none:
        try:
            return as_model()
        except NotAModel:
            named = f"; a model is checked by the name of its class or of a function that builds it: {target}:NAME"
            hint = named if _is_file(target) else ""
            raise NoOperations(f"{none}{hint}") from None


def _is_file(target: object) -> bool:
    return isinstance(target, str) and target.endswith(".py")


def _or_the_operation(report: Report, target: object, as_implementation: Callable[[], Report]) -> Report:
    """Return the report on a model, or on the one operation that its class is where too little of it was recognised."""
    if report.exit_status != _NOT_JUDGED or not isinstance(target, str):
        return report
    try:
        return as_implementation()
    except LoadError:
        return report


def _or_neither(as_implementation: Callable[[], Report], no_model: NotAModel) -> Report:
    try:
        return as_implementation()
    except NoOperations as none:
        raise LoadError(f"{no_model}; it declares no operation either ({none})") from None


def _with_laws(target: object, as_implementation: Callable[[], Report], about_laws: Sequence[str]) -> Report:
    if isinstance(target, str | Implementation):
        try:
            return as_implementation()
        except NoOperations as none:
            if _may_be_model(target):
                raise NotForModels(_not_for_models(about_laws, str(target))) from None
            raise none from None
    try:
        found = load_model(target)
    except NotAModel:
        return as_implementation()
    raise NotForModels(_not_for_models(about_laws, found.name))


def _may_be_model(target: object) -> bool:
    if isinstance(target, str):
        return is_probably_a_model(target)
    return not isinstance(target, Implementation)


def _not_for_models(options: Sequence[str], name: str) -> str:
    names, (verb, which) = " and ".join(options), ("is", "it") if len(options) == 1 else ("are", "them")
    return (
        f"{names} {verb} about the laws of operations, and {plain(name)} declares no operation; a model is checked as "
        f"a whole, in one forward pass: leave {which} out"
    )


def _printed(name: str, text: str) -> tuple[str, ...]:
    line = first_line(text)
    return (f"{name} printed while it was built and run, beginning with {line!r}",) if line else ()
