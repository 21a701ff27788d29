"""What a check's time is spent on: cases judged per second, the share of what is tested, growth with length, memory.

    python benchmarks/throughput.py

Prints three Markdown tables, of ratios measured in one run. The first sets many cases in one call against one case a
call, of the same laws. The second says how much of the time of a run passes in the implementation under test and in the
reference, at usual sizes and at a length of 256. The third says how time and memory grow with the length. Exit status 1
when a call that carries many cases does not judge 20 times as many a second, or less than half of the time at the
length of 256 passes in torch and in the reference together.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from types import FunctionType
from typing import Any
from unittest.mock import patch

from veriformer import reference
from veriformer.adapters.calling import PreparedCall
from veriformer.conformance_tests import check
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run import runner
from veriformer.conformance_tests.search import search

OPERATION = "scaled_dot_product_attention"
ATTENTION = (OPERATION, "grouped_query_attention", "attention_weights", "multi_head_attention")
LEAST_RATIO = 20.0
LEAST_SHARE = 0.5
LENGTHS = (64, 128, 256, 512)


@dataclass(frozen=True)
class Speed:
    """How many cases were judged in how much of the processor's time."""

    cases: int
    seconds: float

    @property
    def rate(self) -> float:
        """Cases a second."""
        return self.cases / self.seconds


def speed(implementation: str, operations: tuple[str, ...] | None) -> Speed:
    """Check once and return how fast that was."""
    started = time.process_time()
    report = check(implementation, operations=operations, diagnosis=False)
    return Speed(report.counts["cases"], time.process_time() - started)


def one_case_a_call(implementation: str, operations: tuple[str, ...] | None) -> Speed:
    """Check once with the same calls, each of which carries one case."""
    with patch.object(search, "batched", lambda case, *_, **__: case):
        return speed(implementation, operations)


def throughput(runs: int) -> tuple[list[str], float]:
    """Return the lines of the first table, and the least of its ratios."""
    lines = ["| laws of | cases a second, many in a call | one in a call | ratio |", "| --- | --- | --- | --- |"]
    ratios = []
    for name, operations in (("numpy", ATTENTION), ("torch", ATTENTION), ("numpy", None), ("torch", None)):
        speed(name, (OPERATION,))
        both = [(speed(name, operations), one_case_a_call(name, operations)) for _ in range(runs)]
        many, one = (max(turn[which].rate for turn in both) for which in (0, 1))
        ratios.append(many / one)
        what = "attention" if operations else "all operations"
        lines.append(f"| {name}, {what} | {many:,.0f} | {one:,.0f} | {many / one:.1f} |")
    return lines, min(ratios)


class Shares:
    """Where the time of a run passes: in the implementation under test, in the reference, or anywhere else."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inside: list[str] = []

    @contextmanager
    def measured(self) -> Iterator[Shares]:
        """Count while this is open."""
        tested = self._counted("tested", PreparedCall._returned)
        with patch.object(PreparedCall, "_returned", tested), patch.multiple(reference, **self._reference()):
            started = time.perf_counter()
            yield self
            self.seconds["all"] = time.perf_counter() - started

    def share(self, *parts: str) -> float:
        """Return the share of the time that passed in some parts."""
        return sum(self.seconds[part] for part in parts) / self.seconds["all"]

    def _reference(self) -> dict[str, Any]:
        return {
            name: self._counted("reference", function)
            for name, function in vars(reference).items()
            if isinstance(function, FunctionType)
        }

    def _counted(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*arguments: Any, **keywords: Any) -> Any:
            if self._inside:
                return function(*arguments, **keywords)
            self._inside.append(part)
            started = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.seconds[part] += time.perf_counter() - started
                self._inside.pop()

        return counted


@contextmanager
def laws_at(length: int) -> Iterator[tuple[str, ...]]:
    """Give the laws of attention that can be put to cases of a length; while it lasts there are no others."""
    changed = {
        identifier: replace(law, space=replace(law.space, queries=length, keys=length))
        for identifier, law in laws().items()
        if law.statement.operation.name == OPERATION and _takes_any_length(law.space)
    }
    with patch.object(runner, "laws", lambda: changed):
        yield tuple(changed)


def _takes_any_length(space: Any) -> bool:
    fixed = isinstance(space, AttentionSpace) and (space.queries or space.keys or space.lengths == "unequal")
    return isinstance(space, AttentionSpace) and not fixed


def shares() -> tuple[list[str], float]:
    """Return the lines of the second table, and the share of torch and the reference at a length of 256."""
    lines = ["| torch, attention | in torch | in the reference | both |", "| --- | --- | --- | --- |"]
    both = 0.0
    for length in (None, 256):
        found = Shares()
        if length is None:
            with found.measured():
                check("torch", operations=(OPERATION,), diagnosis=False)
        else:
            with laws_at(length) as chosen, found.measured():
                check("torch", laws=chosen, diagnosis=False)
        both = found.share("tested", "reference")
        what = "usual sizes" if length is None else f"L = S = {length}"
        parts = " | ".join(f"{found.share(part):.0%}" for part in ("tested", "reference"))
        lines.append(f"| {what} | {parts} | {both:.0%} |")
    return lines, both


def growth() -> list[str]:
    """Return the lines of the third table: time and memory of a run at each length, beside those of half the length."""
    lines = [
        "| length | seconds | of half the length | peak MiB | of half the length |",
        "| --- | --- | --- | --- | --- |",
    ]
    before: tuple[float, float] | None = None
    for length in LENGTHS:
        with laws_at(length) as chosen:
            few = chosen[:8]
            started = time.process_time()
            check("numpy", laws=few, tier="quick", diagnosis=False)
            seconds = time.process_time() - started
            tracemalloc.start()
            check("numpy", laws=few, tier="quick", diagnosis=False)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
        ratios = ("", "") if before is None else (f"{seconds / before[0]:.1f}", f"{peak / before[1]:.1f}")
        lines.append(f"| {length} | {seconds:.1f} | {ratios[0]} | {peak:.0f} | {ratios[1]} |")
        before = seconds, peak
    return lines


def main() -> int:
    """Print the tables; 1 when a ratio or a share is too small."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each run of the first table is made (default 3)")
    arguments = parser.parse_args()
    lines, ratio = throughput(arguments.runs)
    print("\n".join(lines), flush=True)
    lines, share = shares()
    print("\n" + "\n".join(lines), flush=True)
    print("\n" + "\n".join(growth()), flush=True)
    return 0 if ratio >= LEAST_RATIO and share >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
