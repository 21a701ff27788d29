"""How often the suite accuses implementations that are right: the built-in ones, over many seeds.

    python benchmarks/false_alarms.py numpy torch jax --seeds 0-19 [--operation NAME ...] [--law GLOB ...]

Prints a Markdown table, and below it every law that was violated or could not be judged, with its case. Exit status
1 when there is one. Failures on the list of documented findings are counted in a column of their own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import EXAMPLES, Effort
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures

FINDINGS = Path(__file__).resolve().parents[1] / "docs" / "findings" / "expected_failures.txt"
HEADER = (
    "implementation",
    "seeds",
    "laws",
    "cases",
    "false alarms",
    "documented",
    "largest error / allowed",
    "in law",
    "seconds",
)


@dataclass(frozen=True)
class Alarm:
    """A law that an implementation was said to break, at one seed."""

    implementation: str
    seed: int
    result: LawResult

    def __str__(self) -> str:
        """Return where it was met and by how much the law was missed."""
        case = self.result.counterexample.case if self.result.counterexample else None
        shown = f"{case!r}" if case is not None else "no case"
        found = self.result.reason or f"{self.result.largest_excess:.3g} times what rounding explains"
        met = f"{self.implementation}, seed {self.seed}: `{self.result.law.id}` {self.result.status}"
        return f"- {met}: {found}\n  {shown}"


def tried(report: Report) -> Iterator[LawResult]:
    """Return the results of the laws that were put to the implementation."""
    return (result for result in report.results if result.status != "not_declared")


def alarms(reports: Iterable[Report]) -> list[Alarm]:
    """Return every law that did not hold."""
    return [
        Alarm(report.implementation, report.seed, result)
        for report in reports
        for result in tried(report)
        if result.status != "passed" and result.expected_failure is None
    ]


def row(reports: list[Report]) -> tuple[str, ...]:
    """Return one implementation's line of the table."""
    passed = [result for report in reports for result in tried(report) if result.status == "passed"]
    # Some implementations have none of the operations that were asked for.
    worst = max(passed, key=lambda result: result.largest_excess, default=None)
    seeds = [report.seed for report in reports]
    return (
        reports[0].implementation,
        f"{min(seeds)}–{max(seeds)}",
        str(len(list(tried(reports[0])))),
        f"{sum(report.counts['cases'] for report in reports):,}",
        str(len(alarms(reports))),
        str(sum(result.expected_failure is not None for report in reports for result in tried(report))),
        f"{worst.largest_excess:.3f}" if worst else "–",
        f"`{worst.law.id}`" if worst else "–",
        f"{sum(report.seconds for report in reports):.0f}",
    )


def markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [HEADER, tuple("---" for _ in HEADER), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def seed_range(text: str) -> range:
    """Return the seeds that `a-b` or `a` stands for, both ends included."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run(implementation: str, seeds: range, tier: Effort, **chosen: tuple[str, ...] | None) -> list[Report]:
    """Check one implementation at every seed, saying so on standard error."""
    findings = ExpectedFailures.read(FINDINGS)
    reports = []
    for seed in seeds:
        report = check(implementation, seed=seed, tier=tier, expected_failures=findings, **chosen)
        print(
            f"{implementation} seed {seed}: {report.verdict} in {report.seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
        reports.append(report)
    return reports


def arguments() -> argparse.Namespace:
    """Return what was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("implementations", nargs="*", default=["numpy", "torch", "jax"])
    parser.add_argument("--seeds", type=seed_range, default=seed_range("0-19"), metavar="A-B")
    parser.add_argument("--tier", choices=EXAMPLES, default="standard")
    parser.add_argument("--operation", nargs="+", metavar="NAME", help="only these operations")
    parser.add_argument("--law", nargs="+", metavar="GLOB", help="only laws whose ids match")
    return parser.parse_args()


def main() -> int:
    """Print the table and the alarms; 1 when there is an alarm."""
    asked = arguments()
    chosen = {
        "operations": tuple(asked.operation) if asked.operation else None,
        "laws": tuple(asked.law) if asked.law else None,
    }
    runs = [run(name, asked.seeds, asked.tier, **chosen) for name in asked.implementations]
    print(markdown(row(reports) for reports in runs))
    found = [alarm for reports in runs for alarm in alarms(reports)]
    if found:
        print("", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
