"""How often the suite names the mistake: every planted mistake run, or pairs of them, and the diagnosis compared.

    python benchmarks/diagnosis_power.py [--operation NAME ...] [--framework NAME ...] [--source GLOB ...]
    python benchmarks/diagnosis_power.py --pairs 100

Prints each program whose mistakes were not named first, with what was said of it instead, then a Markdown table. A
mistake counts as named where the first suspect of the operation of its first law is it. A pair is two mistakes that are
planted in one source, in different lines, and are of one operation, and of which neither hides the other: no law tells
the program with both from that with one alone then. It counts as named where the first suspect is just the two. Exit
status 1 below 95 % of single mistakes or 80 % of pairs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from random import Random

import numpy as np
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.runner import Run

SHARES = {1: 0.95, 2: 0.80}


@dataclass(frozen=True)
class Program:
    """A correct source with one mistake in it, or two."""

    mistakes: tuple[PlantedMistake, ...]
    text: str

    @property
    def slugs(self) -> tuple[str, ...]:
        """The slugs of the mistakes."""
        return tuple(sorted({mistake.slug for mistake in self.mistakes}))

    @property
    def operation(self) -> str:
        """The operation whose diagnosis counts."""
        return self.mistakes[0].operations[0]

    def __str__(self) -> str:
        """Return the slugs and the source."""
        return f"{' + '.join(self.slugs)} in {self.mistakes[0].source}, {self.operation}"


@dataclass(frozen=True)
class Named:
    """A program and what the suite said of it."""

    program: Program
    diagnoses: tuple[Diagnosis, ...]
    seconds: float

    @property
    def suspects(self) -> list[tuple[str, ...]]:
        """The suspects of the program's operation, the first first."""
        own = (diagnosis for diagnosis in self.diagnoses if diagnosis.operation == self.program.operation)
        return [suspect.mistakes for diagnosis in own for suspect in diagnosis.suspects]

    @property
    def first(self) -> bool:
        """Whether the first suspect is just the mistakes of the program."""
        return self.suspects[:1] == [self.program.slugs]

    @property
    def listed(self) -> bool:
        """Whether any suspect is."""
        return self.program.slugs in self.suspects

    def __str__(self) -> str:
        """Return the program and every diagnosis in a line each."""
        told = [
            f"    {d.operation}: {d.how} {[(*s.mistakes, round(s.confidence, 2)) for s in d.suspects]}"
            for d in self.diagnoses
        ]
        return "\n".join([f"- {self.program}, {self.seconds:.1f} s", *told])


def singles(mistakes: Sequence[PlantedMistake]) -> Iterator[Program]:
    """Yield a program for each planted mistake."""
    for mistake in mistakes:
        yield Program((mistake,), mistake.source_text())


def pairs(mistakes: Sequence[PlantedMistake], seed: int) -> Iterator[Program]:
    """Yield programs with two mistakes each, in a random order, of those that fit into one source together."""
    possible = [pair for pair in combinations(mistakes, 2) if _fit(*pair)]
    for first, second in Random(seed).sample(possible, len(possible)):
        yield Program((first, second), first.source_text().replace(second.right, second.wrong))


def shows_both(program: Program, seed: int) -> bool:
    """Return whether the laws tell a program with two mistakes from those with either alone."""
    singles = [Program((mistake,), mistake.source_text()) for mistake in program.mistakes]
    together, *alone = (_seen(one, program.operation, seed) for one in (program, *singles))
    return together not in alone


def _seen(program: Program, operation: str, seed: int) -> list[tuple[str, str, float]]:
    """Return what the laws of an operation see of a program: verdicts, and errors to the last digit."""
    with written(program) as path, np.errstate(all="ignore"):
        report = check(str(path), operations=(operation,), tier="quick", seed=seed, shrink=False, diagnosis=False)
        return [(result.law.id, result.status, result.largest_excess) for result in report.results]


@contextmanager
def written(program: Program) -> Iterator[Path]:
    """Write a program to a file for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"my_{program.mistakes[0].source}.py"
        path.write_text(program.text, encoding="utf-8")
        yield path


def _fit(first: PlantedMistake, second: PlantedMistake) -> bool:
    if first.source != second.source or first.slug == second.slug or first.errors or second.errors:
        return False
    texts = first.source_text(), second.source_text()
    both = texts[0].replace(second.right, second.wrong)
    # In different passages, so that their order does not matter.
    apart = texts[0].count(second.right) == texts[1].count(first.right) == 1
    return first.operations[0] == second.operations[0] and apart and both == texts[1].replace(first.right, first.wrong)


def named(program: Program, seed: int) -> Named | None:
    """Check a program on the operation that counts; the time is the processor's for the diagnosis alone.

    None for two mistakes of which one hides the other.
    """
    if len(program.mistakes) > 1 and not shows_both(program, seed):
        return None
    with written(program) as path, np.errstate(all="ignore"):
        run = Run(load(str(path)), RunOptions(Selection((program.operation,), seed=seed)))
        results = run.report().results
        started = time.process_time()
        diagnoses = tuple(run.diagnoses(results))
        return Named(program, diagnoses, time.process_time() - started)


def several(programs: Iterator[Program], count: int, workers: int, seed: int) -> Iterator[Named]:
    """Yield what is said of the first programs that count, so many or all where `count` is 0."""
    given = 0
    with ProcessPoolExecutor(workers) as pool:
        while chunk := list(islice(programs, count - given if count else None)):
            for result in pool.map(partial(named, seed=seed), chunk):
                if result is not None:
                    given += 1
                    yield result


def chosen(arguments: argparse.Namespace) -> list[PlantedMistake]:
    """Return the planted mistakes that the command line asks for."""
    return [
        mistake
        for mistake in planted()
        if (not arguments.operation or mistake.operations[0] in arguments.operation)
        and (not arguments.framework or mistake.framework in arguments.framework)
        and (not arguments.source or any(fnmatchcase(mistake.source, glob) for glob in arguments.source))
    ]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose planted mistakes."""
    parser.add_argument("--operation", nargs="*", default=[])
    parser.add_argument("--framework", nargs="*", default=[])
    parser.add_argument("--source", nargs="*", default=[])


def main(words: Sequence[str] | None = None) -> int:
    """Print what was not named, and the share that was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_choice(parser)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args(words)
    mistakes = chosen(arguments)
    programs = pairs(mistakes, arguments.seed) if arguments.pairs else singles(mistakes)
    results = []
    for result in several(programs, arguments.pairs, arguments.workers, arguments.seed):
        results.append(result)
        if not result.first:
            print(result, flush=True)
    first, listed = (sum(getattr(result, name) for result in results) for name in ("first", "listed"))
    median, most = (found(result.seconds for result in results) for found in (statistics.median, max))
    print("\n| programs | named first | share | named at all | median s of the processor | longest |\n|" + " --- |" * 6)
    print(f"| {len(results)} | {first} | {first / len(results):.1%} | {listed} | {median:.2f} | {most:.2f} |")
    return 0 if first >= SHARES[2 if arguments.pairs else 1] * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
