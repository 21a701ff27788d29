"""How much sooner does a check end with more workers, and how does its time grow with the number of laws?

    python benchmarks/scaling.py --runs 3

Times `veriformer check` as whole processes, which take turns: without workers, with one and with two; then either half
of the laws against all of them. Prints two Markdown tables of ratios of medians, which vary less between machines than
seconds do. Exit status 1 when two workers take longer than none on a machine with two cores, or when all laws take more
than twice as long as half of them. `--quick` shows that the script works, on few laws.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

TARGETS = (("numpy",), ("torch",), ("numpy", "torch", "jax"))
WORKERS = (0, 1, 2)
# Loading costs the same for half of the laws, so that it should be less.
MOST_GROWTH = 2.0
QUICK = ("--tier", "quick", "--operation", "softmax", "--operation", "layer_norm", "--operation", "rotary_embedding")


@dataclass(frozen=True)
class Check:
    """One command that is timed."""

    targets: tuple[str, ...]
    options: tuple[str, ...] = ()
    workers: int = 0

    @property
    def name(self) -> str:
        """What it checks."""
        return ", ".join(self.targets)

    def seconds(self) -> float:
        """Run once in a process of its own; CalledProcessError when it does not end as it should."""
        command = (sys.executable, "-m", "veriformer.cli", "check", *self.targets, *self.options)
        started = time.perf_counter()
        subprocess.run((*command, "--workers", str(self.workers)), check=True, capture_output=True, text=True)
        return time.perf_counter() - started


def medians(checks: Sequence[Check], runs: int) -> dict[Check, float]:
    """Return the median time of each; they take turns, so that a machine that is busy is busy for all of them."""
    times: dict[Check, list[float]] = defaultdict(list)
    for _ in range(runs):
        for check in checks:
            times[check].append(check.seconds())
            print(f"{check.name} with {check.workers}: {times[check][-1]:.2f} s", file=sys.stderr, flush=True)
    return {check: statistics.median(measured) for check, measured in times.items()}


def halves(options: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the options that select every second law, and those that select the others."""
    from veriformer.conformance_tests.core.selection import Selection
    from veriformer.spec.laws import LAWS

    selection = Selection(tuple(word for word in options if word in _operations()) or None)
    chosen = [law for law in LAWS if selection.includes(law)]
    return tuple(tuple(word for law in half for word in ("--law", law)) for half in (chosen[::2], chosen[1::2]))


def _operations() -> tuple[str, ...]:
    from veriformer.spec.operations import OPERATIONS

    return tuple(OPERATIONS)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def by_workers(targets: Sequence[tuple[str, ...]], options: tuple[str, ...], runs: int) -> tuple[str, bool]:
    """Return the table of times with workers as multiples of that without, and whether two are no slower."""
    found = medians([Check(target, options, number) for target in targets for number in WORKERS], runs)
    rows, good = [], True
    for target in targets:
        alone, *others = (found[Check(target, options, number)] for number in WORKERS)
        ratios = (*(other / alone for other in others), others[0] / others[-1])
        rows.append((", ".join(target), f"{alone:.1f} s", *(f"{ratio:.2f}" for ratio in ratios)))
        good = good and others[-1] <= alone
    return table(("implementations", "without workers", "1 worker", "2 workers", "1 to 2"), rows), good


def by_laws(targets: Sequence[tuple[str, ...]], options: tuple[str, ...], runs: int) -> tuple[str, bool]:
    """Return the table of the growth from half of the laws to all, and whether it is within its limit.

    Laws do not take equally long: it is the mean of both halves that all are compared with.
    """
    subsets = (*halves(options), ())
    checks = {target: [Check(target, (*options, *laws)) for laws in subsets] for target in targets}
    found = medians([check for of_target in checks.values() for check in of_target], runs)
    growth = {}
    for target, (one, other, every) in checks.items():
        growth[target] = found[every] / statistics.mean((found[one], found[other]))
    rows = [(", ".join(target), f"{ratio:.2f}") for target, ratio in growth.items()]
    return table(("implementations", "all laws / half of them"), rows), max(growth.values()) <= MOST_GROWTH


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; 1 when something takes longer than it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each command is timed (default 3)")
    parser.add_argument("--quick", action="store_true", help="few laws of numpy, whose ratios say nothing")
    asked = parser.parse_args(arguments)
    targets, options = (TARGETS[:1], QUICK) if asked.quick else (TARGETS, ())
    try:
        workers, no_slower = by_workers(targets, options, asked.runs)
        growth, is_bounded = by_laws(targets, options, asked.runs)
    except subprocess.CalledProcessError as failed:
        print(f"{' '.join(failed.cmd)} ended with {failed.returncode}:\n{failed.stderr}", file=sys.stderr)
        return 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    where = f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}"
    print(workers, growth, f"{where} at the end.", sep="\n\n")
    if asked.quick:
        return 0
    return 0 if is_bounded and (no_slower or (os.cpu_count() or 1) < max(WORKERS)) else 1


if __name__ == "__main__":
    sys.exit(main())
