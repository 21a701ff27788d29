"""The kill matrix: every planted mistake against every law that applies to its program, and what follows from it.

    python benchmarks/kill_matrix.py [--tier standard] [--seed 0] [--workers 2]     writes the data (long)
    python benchmarks/kill_matrix.py --only-missing                                 adds what the data lack
    python benchmarks/kill_matrix.py --seeds 0-9 --fail-fast                        only whether each mistake is caught

The first form writes `conformance_tests/mistakes/kill_matrix.json` (for each planted mistake the laws that it breaks)
and `order.json` (the order in which laws are tried). The second does so for mistakes and laws that are not in the data
yet, at the tier and seed of the data, and leaves out those that are no more; broken off, it goes on where it was. The
third prints, for each seed and framework, how many mistakes are caught and the median time from the start of checking
to the first violation, by the clock and of the processor; exit status 1 when one is missed at the standard tier, or
more than 2 % at the quick one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.conformance_tests.mistakes.kills import Killed, KillMatrix, kill_matrix
from veriformer.conformance_tests.operations.laws import laws
from veriformer.spec.laws import LAWS

DATA = Path(__file__).resolve().parents[1] / "conformance_tests" / "mistakes"
LARGEST_SHARE_MISSED = {"quick": 0.02, "standard": 0.0, "thorough": 0.0}


FRAMEWORKS = ("numpy", "torch", "jax")
# So many mistakes are measured before the data are written, so that little is lost when a run is broken off.
SAVED_EVERY = 20


@dataclass(frozen=True)
class Row:
    """One planted mistake: the laws that it breaks, and how long its program took, by the clock and the processor."""

    killed: Killed
    framework: str
    seconds: float
    processor_seconds: float
    law_seconds: dict[str, float]


def measured(
    mistake: PlantedMistake, *, tier: str, seed: int, fail_fast: bool = False, only: tuple[str, ...] | None = None
) -> Row:
    """Check a program with a mistake in it against all its laws, or some; what counts is the time without imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"my_{mistake.source}.py"
        path.write_text(mistake.source_text(), encoding="utf-8")
        laws()
        if mistake.framework != "numpy":
            __import__(mistake.framework)
        clock, processor = time.perf_counter(), time.process_time()
        with np.errstate(all="ignore"):
            report = check(
                str(path), laws=only, tier=tier, seed=seed, fail_fast=fail_fast, shrink=False, diagnosis=False
            )
        seconds, processor_seconds = time.perf_counter() - clock, time.process_time() - processor
        results = report.results if fail_fast else (*report.results, *named_laws_again(mistake, path, report, seed))
    broken, stopped = (
        tuple(result.law.id for result in results if result.status == status) for status in ("failed", "error")
    )
    killed = Killed(mistake.name, mistake.slug, mistake.source, broken, stopped)
    times = {result.law.id: result.seconds for result in report.results if result.status != "not_declared"}
    return Row(killed, mistake.framework, seconds, processor_seconds, times)


def named_laws_again(mistake: PlantedMistake, path: Path, report: Report, seed: int) -> tuple[LawResult, ...]:
    """Return the standard tier's results of the laws that name a mistake where a quicker one had too few cases."""
    violated = {result.law.id for result in report.results if result.status == mistake.status}
    left = tuple(law for law in mistake.laws if law not in violated)
    if not left:
        return ()
    return check(str(path), laws=left, seed=seed, shrink=False, diagnosis=False).results


def greedy_order(matrix: KillMatrix) -> list[str]:
    """Return laws in the order in which each next one catches most of what none before it caught, for its time.

    Laws that catch nothing new follow in the order of what they catch in all, for their time.
    """
    cost = {law: max(milliseconds, 1) for law, milliseconds in matrix.milliseconds.items()}
    caught = {law: {mistake.name for mistake in matrix.mistakes if law in mistake.violated} for law in cost}
    order: list[str] = []
    left, rest = {mistake.name for mistake in matrix.mistakes}, set(cost)
    while rest:
        best = max(sorted(rest), key=lambda law: (len(caught[law] & left) / cost[law], len(caught[law]) / cost[law]))
        order.append(best)
        rest.remove(best)
        left -= caught[best]
    return order


def kept() -> KillMatrix:
    """Return what the data have of the laws and of the mistakes that are still planted."""
    data = kill_matrix()
    names = {mistake.name for mistake in planted()}
    mistakes = tuple(mistake for mistake in data.mistakes if mistake.name in names)
    milliseconds = {law: took for law, took in data.milliseconds.items() if law in LAWS}
    return KillMatrix(data.tier, data.seed, milliseconds, mistakes)


def joined(matrix: KillMatrix, rows: Sequence[Row]) -> KillMatrix:
    """Return a matrix with what rows add to it, in the order in which mistakes are planted."""
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for law, seconds in row.law_seconds.items():
            times[law].append(seconds)
    took = {law: round(1000 * statistics.median(seconds)) for law, seconds in times.items()} | {**matrix.milliseconds}
    found = {mistake.name: mistake for mistake in matrix.mistakes}
    for row in rows:
        known = found.get(row.killed.name, row.killed)
        both = [{*known.broken, *row.killed.broken}, {*known.stopped, *row.killed.stopped}]
        broken, stopped = (tuple(law for law in LAWS if law in some) for some in both)
        found[known.name] = replace(known, broken=broken, stopped=stopped)
    mistakes = tuple(found[mistake.name] for mistake in planted() if mistake.name in found)
    return KillMatrix(matrix.tier, matrix.seed, {law: took[law] for law in LAWS if law in took}, mistakes)


def write(matrix: KillMatrix) -> None:
    """Write a matrix and the order that follows from it."""
    head = json.dumps({"tier": matrix.tier, "seed": matrix.seed, "laws": {**matrix.milliseconds}})
    lines = ",\n".join(json.dumps(asdict(mistake)) for mistake in matrix.mistakes)
    text = f'{head[:-1]}, "mistakes": [\n{lines}\n]}}\n'
    (DATA / "kill_matrix.json").write_text(text, encoding="utf-8")
    (DATA / "order.json").write_text(json.dumps(greedy_order(matrix), indent=1) + "\n", encoding="utf-8")


def told(rows: Sequence[Row], seed: int) -> Iterator[str]:
    """Yield a row of the table for each framework, and one for all: how many were caught, and how soon."""
    for framework in (*FRAMEWORKS, "all"):
        chosen = [row for row in rows if framework in (row.framework, "all")]
        if chosen:
            caught = sum(bool(row.killed.violated) for row in chosen)
            clock = statistics.median(row.seconds for row in chosen)
            processor = statistics.median(row.processor_seconds for row in chosen)
            share = f"{caught / len(chosen):.1%}"
            yield f"| {seed} | {framework} | {len(chosen)} | {caught} | {share} | {clock:.2f} | {processor:.2f} |"
    for row in rows:
        if not row.killed.violated:
            yield f"missed: {row.killed.name} in {row.killed.source}"


def seeds_of(words: str) -> list[int]:
    """Return the seeds of `3` or `0-9`."""
    first, _, last = words.partition("-")
    return list(range(int(first), int(last or first) + 1))


def fill(matrix: KillMatrix, mistakes: Sequence[PlantedMistake], pool: ProcessPoolExecutor) -> list[Row]:
    """Measure what a matrix lacks and write it: new laws on the mistakes that it has, and mistakes that it has not."""
    known = {mistake.name for mistake in matrix.mistakes}
    one = partial(measured, tier=matrix.tier, seed=matrix.seed)
    unseen = tuple(law for law in LAWS if law not in matrix.milliseconds)
    if unseen and known:
        again = partial(one, only=unseen)
        matrix = joined(matrix, list(pool.map(again, [mistake for mistake in mistakes if mistake.name in known])))
    rows: list[Row] = []
    for row in pool.map(one, [mistake for mistake in mistakes if mistake.name not in known]):
        rows.append(row)
        if len(rows) % SAVED_EVERY == 0:
            write(joined(matrix, rows))
    write(joined(matrix, rows))
    return rows


def main(words: Sequence[str] | None = None) -> int:
    """Run the matrix, or several seeds of the short form."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tier", choices=tuple(LARGEST_SHARE_MISSED), default="standard")
    parser.add_argument("--seeds", "--seed", type=seeds_of, default=[0])
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fail-fast", action="store_true")
    how.add_argument("--only-missing", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--framework", nargs="*", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--source", nargs="*", default=["*"], help="globs of the programs that mistakes are planted in")
    arguments = parser.parse_args(words)
    if not arguments.fail_fast and len(arguments.seeds) > 1:
        parser.error(f"the data are of one seed; received {len(arguments.seeds)}; add --fail-fast for several")
    if arguments.source != ["*"] and not arguments.fail_fast:
        parser.error("the data are of all programs; add --fail-fast for those of --source alone")
    absent = [name for name in arguments.framework if find_spec(name) is None]
    if absent:
        parser.error(f"{' and '.join(absent)} cannot be imported; install it, or name the others after --framework")
    mistakes = [
        mistake
        for mistake in planted()
        if mistake.framework in arguments.framework and any(fnmatch(mistake.source, one) for one in arguments.source)
    ]
    matrix = kept() if arguments.only_missing else KillMatrix(arguments.tier, arguments.seeds[0], {}, ())
    until = "first violation" if arguments.fail_fast else "end"
    print(f"| seed | framework | mistakes | caught | share | median s to the {until} | of the processor |")
    print("|" + " --- |" * 7)
    missed = 0.0
    with ProcessPoolExecutor(arguments.workers) as pool:
        for seed in arguments.seeds if arguments.fail_fast else [matrix.seed]:
            one = partial(measured, tier=matrix.tier, seed=seed, fail_fast=True)
            rows = list(pool.map(one, mistakes)) if arguments.fail_fast else fill(matrix, mistakes, pool)
            print("\n".join(told(rows, seed)), flush=True)
            missed = max(missed, sum(not row.killed.violated for row in rows) / max(len(rows), 1))
    return 1 if missed > LARGEST_SHARE_MISSED[matrix.tier] else 0


if __name__ == "__main__":
    sys.exit(main())
