"""The page of each command, as HTML.

check_page           implementations and models against the laws
comparison_page      two implementations
port_page            two whole models
identification_page  the conventions of implementations
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.conventions.identification import Identification
from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.reports.comparison_json import comparison_as_json
from veriformer.conformance_tests.reports.html.blocks import (
    Block,
    Card,
    Code,
    Fold,
    Marks,
    Page,
    Prose,
    Section,
    Sentence,
    Status,
    choices_of,
    told,
)
from veriformer.conformance_tests.reports.html.comparisons import comparison_sections
from veriformer.conformance_tests.reports.html.conventions import identified_section
from veriformer.conformance_tests.reports.html.data import Kind, embedded
from veriformer.conformance_tests.reports.html.environment import versions
from veriformer.conformance_tests.reports.html.implementations import facts_of, own_sections, wrong_section
from veriformer.conformance_tests.reports.html.ports import port_sections, without_sides
from veriformer.conformance_tests.reports.html.rendering import rendered
from veriformer.conformance_tests.reports.html.tried import several_section
from veriformer.conformance_tests.reports.html.wording import (
    Failure,
    comparison_sentence,
    identification_sentence,
    typeset_sentence,
)
from veriformer.conformance_tests.reports.identified import failure_of_identify, identification_as_json
from veriformer.conformance_tests.reports.json_report import failure_as_json, report_as_json
from veriformer.conformance_tests.reports.ports import verdict_sentence
from veriformer.conformance_tests.reports.ports_json import ports_as_json
from veriformer.conformance_tests.run.atomic import write_text
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

_LONGEST = 4000
_STATUSES: dict[str, Status] = {"conforms": "held", "violates": "broken", "error": "error"}
_COMPARED: dict[str, Status] = {"agree": "held", "part": "broken", "error": "error"}
_VERDICTS: dict[Status, str] = {"held": "every law holds", "broken": "does not hold", "error": "not judged as a whole"}


def check_page(
    reports: Sequence[Report],
    failures: Sequence[Failure] = (),
    *,
    command: str = "",
    seed: int = 0,
    tier: str = "standard",
) -> str:
    """Return the page of a check; `failures` are names with the reason why they could not be loaded.

    `command` is the command line that repeats the run. `seed` and `tier` are those of the failures.
    """
    objects = [report_as_json(report) for report in reports]
    objects += [failure_as_json(name, reason, seed=seed, tier=tier) for name, reason in failures]
    single = reports[0] if len(reports) == 1 and not failures else None
    sections = own_sections(single) if single is not None else _of_several(reports, failures)
    names = [plain(one.implementation) for one in reports] + [plain(name) for name, _ in failures]
    worst = max((report.exit_status for report in reports if report.exit_status != 2), default=0)
    uncertain = bool(failures) or any(report.exit_status == 2 for report in reports)
    page = Page(
        f"{names[0] if len(names) == 1 else counted(len(names), 'implementation')}: Veriformer",
        typeset_sentence(reports, failures),
        "broken" if worst else "error" if uncertain else "held",
        facts_of(reports, seed=seed, tier=tier),
        tuple(sections),
        command,
        single.notices if single is not None else (),
    )
    return _finished(page, "check", objects)


def comparison_page(comparison: Comparison, *, command: str = "") -> str:
    """Return the page of two implementations."""
    facts = (
        ("A", joined((plain(comparison.first), comparison.frameworks[0]))),
        ("B", joined((plain(comparison.second), comparison.frameworks[1]))),
        ("cases", f"{sum(one.cases for one in comparison.operations):,} in {comparison.seconds:.1f} s"),
        ("drawn by", f"seed {comparison.seed}, tier {comparison.tier}"),
        ("versions", versions(comparison.frameworks)),
    )
    title = f"{plain(comparison.first)} and {plain(comparison.second)}: Veriformer"
    sections = tuple(comparison_sections(comparison))
    page = Page(
        title,
        comparison_sentence(comparison),
        _COMPARED[comparison.verdict],
        facts,
        sections,
        command,
        comparison.notices,
    )
    return _finished(page, "compare", [comparison_as_json(comparison)])


def port_page(found: PortComparison, *, command: str = "") -> str:
    """Return the page of two whole models."""
    facts = (
        ("A", joined(map(plain, (found.first, found.frameworks[0], found.dtypes[0])))),
        ("B", joined(map(plain, (found.second, found.frameworks[1], found.dtypes[1])))),
        ("time", f"{found.seconds:.1f} s"),
        ("versions", versions(found.frameworks)),
    )
    status: Status = "broken" if found.verdict == "differ" else "held"
    title = f"{plain(found.first)} and {plain(found.second)}: Veriformer"
    causes = [plain(one.cause.sentence, 400) for one in (*found.differences, *found.inside)]
    parts = told(verdict_sentence(found), causes)
    said = tuple(piece for part in parts for piece in (without_sides(part) if isinstance(part, Sentence) else (part,)))
    page = Page(title, said, status, facts, tuple(port_sections(found)), command, found.notices)
    return _finished(page, "compare", [ports_as_json(found)])


def identification_page(found: Sequence[Identification], failures: Sequence[Failure] = (), *, command: str = "") -> str:
    """Return the page of the conventions of implementations."""
    sections = [identified_section(one, number) for number, one in enumerate(found, 1)]
    sections += [_not_loaded(failures)] if failures else []
    names = [plain(one.implementation) for one in found] + [plain(name) for name, _ in failures]
    contradicted = any(one.contradicted for one in found)
    asked = any(one.operations for one in found)
    page = Page(
        f"Conventions of {joined(names[:3])}: Veriformer",
        identification_sentence(found, failures),
        "broken" if contradicted else "held" if asked and not failures else "error",
        (("versions", versions(one.framework for one in found)),),
        tuple(sections),
        command,
    )
    objects = [identification_as_json(one) for one in found] + [failure_of_identify(*failure) for failure in failures]
    return _finished(page, "identify", objects)


def write_page(path: Path, page: str) -> None:
    """Write a page whole or not at all; OSError when the file cannot be written."""
    write_text(path, page)


def _finished(page: Page, kind: Kind, objects: Sequence[dict[str, object]]) -> str:
    sections = tuple(section for section in page.sections if section.blocks)
    return rendered(replace(page, sections=sections, data=embedded(kind, objects), choices=choices_of(sections)))


def _of_several(reports: Sequence[Report], failures: Sequence[Failure]) -> list[Section]:
    """Return implementations side by side, what is wrong with any, and each of them behind a fold."""
    implementations = [report for report in reports if not isinstance(report, ModelReport)]
    sections = [several_section(implementations)] if len(implementations) > 1 else []
    sections += [_not_loaded(failures)] if failures else []
    wrong = wrong_section(implementations, named=True)
    sections += [wrong] if wrong is not None else []
    sections.append(Section("each", "Each of them", tuple(_folded(one) for one in reports)))
    return sections


def _folded(report: Report) -> Block:
    """Return everything about one of several; what is wrong with an implementation stands above."""
    blocks: list[Block] = [Prose(typeset_sentence([report])), *(Prose(notice, "doubtful") for notice in report.notices)]
    for section in own_sections(report, in_short=True):
        blocks += [Fold(section.heading, section.blocks, is_open=section.anchor == "wrong")]
    status = _STATUSES[report.verdict]
    name = plain(report.implementation)
    return Fold(f"{name}: {_VERDICTS[status]}", tuple(blocks), marks=Marks((), (), status))


def _not_loaded(failures: Sequence[Failure]) -> Section:
    return Section("failures", "Not loaded", tuple(_failure(*one, number) for number, one in enumerate(failures, 1)))


def _failure(name: str, reason: str, number: int) -> Card:
    code = (Code(plain(reason, _LONGEST)),)
    title = f"{plain(name)} could not be loaded"
    return Card(f"failure-{number}", title, "error", code, marks=Marks(status="error"))
