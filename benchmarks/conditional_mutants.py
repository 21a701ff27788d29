"""What is never drawn: correct implementations that are wrong only where one condition on their arguments holds.

    python benchmarks/conditional_mutants.py [--operation NAME ...] [--tier NAME ...] [--seeds 0-9] [--workers N]
        [--met-only] [--page FILE]

Of every operation the plain reference is run once, at each tier and seed, and it is watched which conditions its calls
meet and in which laws. A mutant that is wrong where a condition holds does what the reference does until the condition
is met: where it is never met, the mutant survives. Where it is met, the mutant is put to the laws that met it, until
one is broken; `--met-only` leaves that out. The wrongness is gross (every entry is another), so that only the drawing
of cases decides. Exit status 1 where a tier kills less than it shall.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from conditions.call import Call, Condition
from conditions.catalogue import conditions_of
from conditions.mutants import implementation, mutant
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.pace import Progress
from veriformer.spec.operations import OPERATIONS

SHALL = {"quick": 0.90, "standard": 0.97, "thorough": 0.995}
QUIET = {"over": "ignore", "invalid": "ignore", "divide": "ignore", "under": "ignore"}


@dataclass(frozen=True)
class Outcome:
    """What became of the mutants of one operation at one tier and seed: the names of conditions."""

    operation: str
    tier: str
    seed: int
    killed: tuple[str, ...]
    unmet: tuple[str, ...]
    unjudged: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many mutants there were."""
        return len(self.killed) + len(self.unmet) + len(self.unjudged)


@dataclass
class Watch:
    """Which conditions were met, by the laws that met them."""

    conditions: tuple[Condition, ...]
    law: str = ""
    met: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def begins(self, progress: Progress) -> None:
        """Note the law that is tried now."""
        self.law = progress.law

    def __call__(self, call: Call, result: Any) -> Any:
        """Note what holds of a call, and return its result."""
        for condition in self.conditions:
            if self.law not in self.met[condition.name] and condition.holds(call):
                self.met[condition.name].add(self.law)
        return result


def watched(operation: str, tier: str, seed: int) -> dict[str, set[str]]:
    """Return the laws that met each condition."""
    watch = Watch(conditions_of(operation))
    with np.errstate(**QUIET):
        report = check(
            implementation(operation, watch), operations=(operation,), tier=tier, seed=seed, shrink=False,
            diagnosis=False, progress=watch.begins,
        )  # fmt: skip
    assert report.verdict == "conforms", f"the reference is accused: {operation} {tier} {seed}"
    return watch.met


def killed(condition: Condition, tier: str, seed: int, laws: set[str] | None = None) -> bool:
    """Return whether a mutant is seen to be wrong; `laws` are those that met its condition, which alone can see it."""
    chosen = None if condition.of_history or laws is None or "" in laws else tuple(sorted(laws))
    with np.errstate(**QUIET):
        report = check(
            mutant(condition), operations=(condition.operation,), laws=chosen, tier=tier, seed=seed, fail_fast=True,
            shrink=False, diagnosis=False,
        )  # fmt: skip
    return bool(report.verdict == "violates")


def outcome(operation: str, tier: str, seed: int, met_only: bool) -> Outcome:
    """Return what becomes of the mutants of an operation."""
    met = watched(operation, tier, seed)
    dead, unmet, unjudged = [], [], []
    for condition in conditions_of(operation):
        laws = met.get(condition.name)
        if not laws:
            unmet.append(condition.name)
        elif met_only or killed(condition, tier, seed, laws):
            dead.append(condition.name)
        else:
            unjudged.append(condition.name)
    return Outcome(operation, tier, seed, tuple(dead), tuple(unmet), tuple(unjudged))


def outcomes(arguments: argparse.Namespace) -> list[Outcome]:
    """Return the outcomes of all operations, tiers and seeds that were asked for, as they come."""
    tasks = list(product(arguments.seeds, arguments.tier, arguments.operation or tuple(OPERATIONS)))
    found = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        work = partial(_outcome, met_only=arguments.met_only)
        for result in pool.map(work, tasks):
            found.append(result)
            print(
                f"{result.tier} seed {result.seed} {result.operation}: {len(result.killed)} of {result.total}",
                flush=True,
            )
            for name in (*result.unmet, *(f"{name} (met, not judged)" for name in result.unjudged)):
                print(f"    {name}")
    return found


def _outcome(task: tuple[int, str, str], met_only: bool) -> Outcome:
    seed, tier, operation = task
    return outcome(operation, tier, seed, met_only)


def share(found: Sequence[Outcome]) -> float:
    """Return the share of mutants that were killed."""
    return sum(len(one.killed) for one in found) / max(1, sum(one.total for one in found))


def table(found: Sequence[Outcome], tiers: Sequence[str]) -> str:
    """Return a Markdown table: a row for each operation, a column for each tier."""
    rows = [f"| operation | conditions | {' | '.join(tiers)} |", f"| --- | --- |{' --- |' * len(tiers)}"]
    operations = dict.fromkeys(one.operation for one in found)
    rows.extend(_row(f"`{name}`", [one for one in found if one.operation == name], tiers) for name in operations)
    return "\n".join((*rows, _row("all", found, tiers)))


def _row(name: str, found: Sequence[Outcome], tiers: Sequence[str]) -> str:
    number = sum({one.operation: one.total for one in found}.values())
    cells = [f"{100 * share([one for one in found if one.tier == tier]):.1f} %" for tier in tiers]
    return f"| {name} | {number} | {' | '.join(cells)} |"


def never(found: Sequence[Outcome], tiers: Sequence[str]) -> dict[str, list[str]]:
    """Return, by operation, the conditions whose mutants survive every seed of the most thorough tier that was run."""
    last = [one for one in found if one.tier == tiers[-1]]
    survivors: dict[str, list[str]] = {}
    for operation in dict.fromkeys(one.operation for one in last):
        dead = {name for one in last if one.operation == operation for name in one.killed}
        names = [condition.name for condition in conditions_of(operation) if condition.name not in dead]
        if names:
            survivors[operation] = names
    return survivors


def page(found: Sequence[Outcome], tiers: Sequence[str], seeds: Sequence[int], command: str) -> str:
    """Return the page about what is never drawn."""
    survivors = never(found, tiers)
    number = sum(len(names) for names in survivors.values())
    lines = [
        "# What is never drawn",
        "",
        "A correct implementation that is wrong only where one condition on its arguments holds can be caught only by",
        "a case that meets the condition. The share of such mutants that is caught, by tier, at",
        f"{f'seed {seeds[0]}' if len(seeds) == 1 else f'seeds {seeds[0]} to {seeds[-1]}'}:",
        "",
        table(found, tiers),
        "",
        f"These {number} were caught at no seed of the tier `{tiers[-1]}`:",
        "",
        *(f"- `{operation}`: {'; '.join(names)}" for operation, names in survivors.items()),
        "",
        "Measured by",
        "",
        "```sh",
        command,
        "```",
    ]
    return "\n".join(lines) + "\n"


def seeds_of(text: str) -> tuple[int, ...]:
    """Return the seeds that `0-9` or `3` means."""
    first, _, last = text.partition("-")
    return tuple(range(int(first), int(last or first) + 1))


def main(words: Sequence[str] | None = None) -> int:
    """Print what survives, and a table of the shares that are killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operation", action="append", choices=tuple(OPERATIONS))
    parser.add_argument("--tier", action="append", choices=tuple(SHALL))
    parser.add_argument("--seeds", type=seeds_of, default=(0,))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--met-only", action="store_true", help="do not run mutants: count a condition that is met")
    parser.add_argument("--page", type=Path, help="write the page about what is never drawn")
    arguments = parser.parse_args(words)
    arguments.tier = tuple(tier for tier in SHALL if tier in (arguments.tier or SHALL))
    found = outcomes(arguments)
    print(f"\n{table(found, arguments.tier)}")
    if arguments.page:
        command = f"python benchmarks/conditional_mutants.py {' '.join(words if words is not None else sys.argv[1:])}"
        arguments.page.write_text(page(found, arguments.tier, arguments.seeds, command), "utf-8")
    shares = {tier: share([one for one in found if one.tier == tier]) for tier in arguments.tier}
    return 0 if all(shares[tier] >= SHALL[tier] for tier in arguments.tier) else 1


if __name__ == "__main__":
    sys.exit(main())
