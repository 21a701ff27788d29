"""A file with functions and classes: what is an operation, what is checked by itself, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from veriformer.adapters.errors import LoadError, NoOperations
from veriformer.adapters.matching.classes import (
    classes_in,
    functions_beside,
    is_never_recorded,
    kinds_of_objects,
    left_beside,
)
from veriformer.adapters.matching.more_than_attention import attentions_in
from veriformer.conformance_tests.run.left_out import left_out
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

_MOST_ALONE = 6
_INTERRUPTED = "it was not reached before the interrupt"
_NO_OPERATION = "no operation fits it"
_HOW = "--as FUNCTION=OPERATION names one"
# The status of a report on a model of which too little was recognised.
_NOT_JUDGED = 2
ReportOf = Callable[[str], Report]


def reports_of(source: str, report_of: ReportOf, *, whole: bool) -> list[Report]:
    """Return the reports on a source: for a `whole` file also those on its classes and on further functions.

    What is checked nowhere is named in a notice of the first report, with the reason. LoadError where nothing of a
    source can be checked.
    """
    tops, parts = classes_in(source) if whole and source.endswith(".py") else ([], [])
    try:
        reports = [report_of(source)]
    except LoadError as error:
        if whole and source.endswith(".py"):
            tops = [*tops, *attentions_in(source)]
        if not tops or is_never_recorded(source):
            raise
        return _of_classes(source, report_of, tops, parts, error)
    first = reports[0]
    if isinstance(first, ModelReport) or first.interrupted:
        return reports
    reasons = {name: why or _NO_OPERATION for name, why in first.not_judged.items()}
    known = reasons if is_never_recorded(source) else {}
    # Of a class with both passes each is an operation.
    taken = [name for name in tops if {name, f"{name}.forward", f"{name}.backward"}.intersection(first.taken_as)]
    left = [name for name in tops if name not in taken and name not in known]
    # A function of parameters and inputs may be a layer or a model, of which its file makes the parameters.
    layers = [name for name in functions_beside(source) if name in reasons and name not in known] if whole else []
    # Of a class whose object is judged, the object is what the file uses.
    by_object = {kind for name, kind in kinds_of_objects(source).items() if name in first.taken_as}
    alone = [name for name in dict.fromkeys((*first.judged_alone, *left, *layers)) if name not in by_object]
    others = _alone(source, report_of, alone, reasons, is_wrong=first.verdict == "violates")
    first = replace(first, notices=(*first.notices, *left_out(reasons, _HOW)), not_judged=reasons)
    return _with_interrupt([first, *others], reasons)


def _of_classes(
    source: str, report_of: ReportOf, tops: Sequence[str], parts: Sequence[str], error: LoadError
) -> list[Report]:
    """Return the reports on the classes of a file without operations; LoadError with all reasons if there are none."""
    reasons: dict[str, str] = {}
    reports = _alone(source, report_of, tops, reasons)
    if not reports and not _is_interrupted(reasons):
        reports = _alone(source, report_of, parts[::-1], reasons)
    if not reports and _is_interrupted(reasons):
        raise KeyboardInterrupt
    if not reports:
        raise NoOperations("\n  ".join([str(error), *reasons.values()]))
    # A function beside them is no model, and what it would need as one is no reason.
    unlike: dict[str, str] = {}
    if not _is_interrupted(reasons) and not any(one.interrupted for one in reports):
        reports += _alone(source, report_of, [name for name in functions_beside(source) if name not in tops], unlike)
    judged = [one.implementation.rpartition(":")[2] for one in reports]
    left = [name for name in left_beside(source, judged) if name not in reasons]
    reasons |= {name: _INTERRUPTED if why == _INTERRUPTED else _NO_OPERATION for name, why in unlike.items()}
    reasons |= dict.fromkeys(left, _NO_OPERATION)
    first = replace(reports[0], notices=(*reports[0].notices, *left_out(reasons, _HOW)))
    return _with_interrupt([first, *reports[1:]], reasons)


def _alone(
    source: str, report_of: ReportOf, names: Sequence[str], reasons: dict[str, str], *, is_wrong: bool = False
) -> list[Report]:
    """Return the reports on functions and classes by their names; those without one are added to `reasons`.

    An interrupt leaves the others, which is their reason. Where operations of the file are known to be wrong
    (`is_wrong`), what was not recognised breaks laws for their sake.
    """
    found = []
    for number, name in enumerate(names[:_MOST_ALONE]):
        try:
            report = report_of(f"{source}:{name}")
            if report.exit_status == _NOT_JUDGED or (is_wrong and _is_unread(report)):
                reasons[name] = f"too little of it was recognised: veriformer check {source}:{name}"
            else:
                found.append(report)
                reasons.pop(name, None)
                if report.interrupted:
                    reasons |= dict.fromkeys(names[number + 1 :], _INTERRUPTED)
                    return found
        except LoadError as error:
            reasons.setdefault(name, _brief(error))
        except KeyboardInterrupt:
            reasons |= dict.fromkeys(names[number:], _INTERRUPTED)
            return found
    for name in names[_MOST_ALONE:]:
        reasons[name] = f"veriformer check {source}:{name}"
    return found


def _is_unread(report: Report) -> bool:
    return isinstance(report, ModelReport) and not report.is_recognised and not report.departures


def _is_interrupted(reasons: Mapping[str, str]) -> bool:
    return _INTERRUPTED in reasons.values()


def _with_interrupt(reports: list[Report], reasons: Mapping[str, str]) -> list[Report]:
    """Return reports of which the first says that it was interrupted, where something was not reached."""
    return [replace(reports[0], interrupted=True), *reports[1:]] if _is_interrupted(reasons) else reports


def _brief(error: LoadError) -> str:
    """Return why a class or a function is no model, without what it is as an operation, which is said before."""
    said = str(error).partition("; it declares no operation either")[0]
    return said.partition("\n")[0].removesuffix(" Tried:")
