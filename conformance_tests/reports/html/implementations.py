"""The sections of one implementation, and of one whole model."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.core.text import counted, joined, plain
from veriformer.conformance_tests.reports.html.blocks import Block, Bullets, Fold, Section, Table
from veriformer.conformance_tests.reports.html.cards import Drawer
from veriformer.conformance_tests.reports.html.conventions import conventions_section
from veriformer.conformance_tests.reports.html.environment import versions
from veriformer.conformance_tests.reports.html.faults import faults_of
from veriformer.conformance_tests.reports.html.models import model_sections
from veriformer.conformance_tests.reports.html.tried import tried_section, undeclared_section
from veriformer.conformance_tests.run.model_report import ModelReport
from veriformer.conformance_tests.run.report import Report

_LONGEST = 600
_Pairs = tuple[tuple[str, str], ...]


def own_sections(report: Report, *, in_short: bool = False) -> list[Section]:
    """Return the sections of one implementation or model, what is wrong first and what is not declared last.

    `in_short` leaves out what makes a page of many implementations large: the statements of laws that hold, and what is
    not declared.
    """
    if isinstance(report, ModelReport):
        return model_sections(report)
    found = [
        None if in_short else wrong_section([report]),
        _known_section(report),
        conventions_section(report),
        tried_section(report, in_short=in_short),
        None if in_short else undeclared_section(report),
    ]
    return [section for section in found if section is not None]


def wrong_section(reports: Sequence[Report], *, named: bool = False) -> Section | None:
    """Return a card for everything that is wrong, with the implementation's name where `named`; None if nothing is."""
    drawer = Drawer()
    cards: list[Block] = []
    for report in reports:
        cards += drawer.cards(faults_of(report), report.implementation if named else "")
        if report.stale:
            cards.append(Bullets(tuple(map(plain, report.stale)), "Expected failures that no longer occur"))
    return Section("wrong", "What is wrong", tuple(cards)) if cards else None


def _known_section(report: Report) -> Section | None:
    """Return the failures that a list expects, each with its reason."""
    known = [result for result in report.results if result.expected_failure is not None]
    if not known:
        return None
    rows = tuple((result.law.id, plain(result.expected_failure, _LONGEST)) for result in known)
    table = Table("", ("law", "why it is expected to fail"), rows)
    return Section("expected", "Expected failures", (Fold(counted(len(known), "law"), (table,)),))


def facts_of(reports: Sequence[Report], *, seed: int, tier: str) -> _Pairs:
    """Return the facts of a run: how many laws, on what, with which versions."""
    counts = [report.counts for report in reports]

    def total(name: str) -> int:
        return sum(one[name] for one in counts)

    broken = total("failed") + total("errors")
    pairs = [
        ("laws", _outcome(total("passed"), broken) if reports else ""),
        ("other laws", joined([_said(total("not_declared"), "not declared"), _said(total("not_tried"), "not tried")])),
        ("departures", _departures(reports)),
        ("cases", f"{total('cases'):,} in {sum(report.seconds for report in reports):.1f} s" if reports else ""),
        (
            "drawn by",
            joined(dict.fromkeys(f"seed {one.seed}, tier {one.tier}" for one in reports))
            or f"seed {seed}, tier {tier}",
        ),
        ("framework", joined(dict.fromkeys(plain(one.framework) for one in reports))),
        ("versions", versions(one.framework for one in reports)),
    ]
    return tuple((label, text) for label, text in pairs if text)


def _outcome(held: int, broken: int) -> str:
    if not broken:
        return f"{held:,} tried, all of them hold"
    return f"{held + broken:,} tried: {held:,} hold, {broken:,} {'does' if broken == 1 else 'do'} not"


def _said(number: int, words: str) -> str:
    return f"{number:,} {words}" if number else ""


def _departures(reports: Sequence[Report]) -> str:
    models = [report for report in reports if isinstance(report, ModelReport)]
    return f"{sum(len(one.departures) for one in models)}" if models else ""
