"""The kill matrix: every planted mistake against every law that applies to its program, and what follows from it.

    python benchmarks/kill_matrix.py [--tier standard] [--seed 0] [--workers 2]     writes the data (minutes)
    python benchmarks/kill_matrix.py --seeds 0-9 --fail-fast                        only whether each mistake is caught

The first form writes `conformance_tests/mistakes/kill_matrix.json` (for each planted mistake the laws that it breaks
and the time to the first violation) and `order.json` (the order in which laws are tried). The second form prints, for
each seed, how many mistakes are caught and the median time from the start of checking to the first violation; exit
status 1 when one is missed at the standard tier, or more than 2 % at the quick one.
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
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.spec.laws import LAWS

DATA = Path(__file__).resolve().parents[1] / "conformance_tests" / "mistakes"
LARGEST_SHARE_MISSED = {"quick": 0.02, "standard": 0.0, "thorough": 0.0}


@dataclass(frozen=True)
class Row:
    """One planted mistake: the laws tried on its program, those that it breaks, and how long that took."""

    name: str
    slug: str
    source: str
    broken: tuple[str, ...]
    tried: int
    seconds: float
    law_seconds: dict[str, float]


def run(mistake: PlantedMistake, *, tier: str, seed: int, fail_fast: bool) -> Row:
    """Check a program with a mistake in it against all its laws; what counts is the time without imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"my_{mistake.source}.py"
        path.write_text(mistake.source_text(), encoding="utf-8")
        if mistake.framework != "numpy":
            __import__(mistake.framework)
        started = time.perf_counter()
        with np.errstate(all="ignore"):
            report = check(str(path), tier=tier, seed=seed, fail_fast=fail_fast, shrink=False, diagnosis=False)
        seconds = time.perf_counter() - started
    tried = [result for result in report.results if result.status != "not_declared"]
    broken = tuple(result.law.id for result in tried if result.status in ("failed", "error"))
    times = {result.law.id: round(result.seconds, 4) for result in tried}
    return Row(mistake.name, mistake.slug, mistake.source, broken, len(tried), seconds, times)


def greedy_order(rows: Sequence[Row]) -> list[str]:
    """Return laws in the order in which each next one catches most of what none before it caught, for its time.

    Laws that catch nothing new follow in the order of what they catch in all, for their time.
    """
    costs: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for law, seconds in row.law_seconds.items():
            costs[law].append(seconds)
    cost = {law: max(statistics.median(seconds), 1e-3) for law, seconds in costs.items()}
    caught = {law: {row.name for row in rows if law in row.broken} for law in cost}
    order: list[str] = []
    left, rest = {row.name for row in rows}, set(cost)
    while rest:
        best = max(sorted(rest), key=lambda law: (len(caught[law] & left) / cost[law], len(caught[law]) / cost[law]))
        order.append(best)
        rest.remove(best)
        left -= caught[best]
    return order


def write(rows: Sequence[Row], tier: str, seed: int) -> None:
    """Write the matrix and the order that follows from it."""
    # Times differ from run to run and say nothing about a law: they are left out of what is kept.
    kept = [{"name": row.name, "slug": row.slug, "source": row.source, "broken": list(row.broken)} for row in rows]
    tried = {law for row in rows for law in row.law_seconds}
    head = json.dumps({"tier": tier, "seed": seed, "laws": [law for law in LAWS if law in tried]})
    lines = ",\n".join(json.dumps(entry) for entry in kept)
    text = f'{head[:-1]}, "mistakes": [\n{lines}\n]}}\n'
    (DATA / "kill_matrix.json").write_text(text, encoding="utf-8")
    (DATA / "order.json").write_text(json.dumps(greedy_order(rows), indent=1) + "\n", encoding="utf-8")


def told(rows: Sequence[Row], seed: int) -> str:
    """Return a row of the table: how many were caught, and how soon."""
    caught = [row for row in rows if row.broken]
    median = statistics.median(row.seconds for row in rows)
    share = 100 * len(caught) / len(rows)
    return f"| {seed} | {len(rows)} | {len(caught)} | {share:.1f} % | {median:.2f} |"


def seeds_of(words: str) -> list[int]:
    """Return the seeds of `3` or `0-9`."""
    first, _, last = words.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(words: Sequence[str] | None = None) -> int:
    """Run the matrix, or several seeds of the short form."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tier", choices=tuple(LARGEST_SHARE_MISSED), default="standard")
    parser.add_argument("--seeds", "--seed", type=seeds_of, default=[0])
    parser.add_argument("--fail-fast", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--framework", nargs="*", default=["numpy", "torch", "jax"])
    parser.add_argument("--dump", type=Path, help="write every row as JSON, with its times")
    arguments = parser.parse_args(words)
    mistakes = [mistake for mistake in planted() if mistake.framework in arguments.framework]
    print("| seed | mistakes | caught | share | median s to the end of the check |\n| --- | --- | --- | --- | --- |")
    missed = 0.0
    with ProcessPoolExecutor(arguments.workers) as pool:
        for seed in arguments.seeds:
            one = partial(run, tier=arguments.tier, seed=seed, fail_fast=arguments.fail_fast)
            rows = list(pool.map(one, mistakes))
            print(told(rows, seed), flush=True)
            for row in rows:
                if not row.broken:
                    print(f"missed: {row.name} in {row.source}", flush=True)
            missed = max(missed, sum(not row.broken for row in rows) / len(rows))
            if arguments.dump:
                arguments.dump.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
            if not arguments.fail_fast and len(arguments.seeds) == 1:
                write(rows, arguments.tier, seed)
    return 1 if missed > LARGEST_SHARE_MISSED[arguments.tier] else 0


if __name__ == "__main__":
    sys.exit(main())
