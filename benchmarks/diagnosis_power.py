"""How often the suite names the mistake: every planted mistake run, its diagnosis compared with its slug.

    python benchmarks/diagnosis_power.py [--operation NAME ...] [--framework NAME ...] [--source GLOB ...]

Prints each mistake that was not named first, with what was said of it instead, then a Markdown table. A mistake counts
as named where the first suspect of the operation of its first law is it, as caught where any law fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis
from veriformer.conformance_tests.mistakes import PlantedMistake, planted


@dataclass(frozen=True)
class Named:
    """A planted mistake and what the suite said of it."""

    mistake: PlantedMistake
    diagnoses: tuple[Diagnosis, ...]
    seconds: float

    @property
    def first(self) -> bool:
        """Whether the first suspect of some operation that the mistake's laws are about is the mistake."""
        return any(
            diagnosis.suspects[0].mistakes == (self.mistake.slug,)
            for diagnosis in self.diagnoses
            if diagnosis.suspects and diagnosis.operation == self.mistake.operations[0]
        )

    @property
    def listed(self) -> bool:
        """Whether any suspect is the mistake."""
        return any(
            self.mistake.slug in suspect.mistakes for diagnosis in self.diagnoses for suspect in diagnosis.suspects
        )

    def __str__(self) -> str:
        """Return the name of the mistake and every diagnosis in a line each."""
        told = [
            f"    {d.operation}: {d.how} {[(*s.mistakes, round(s.confidence, 2)) for s in d.suspects]}"
            for d in self.diagnoses
        ]
        return "\n".join([f"- {self.mistake.name} ({self.mistake.source}), {self.seconds:.1f} s", *told])


def named(mistake: PlantedMistake, folder: Path, seed: int = 0) -> Named:
    """Check a program with a mistake in it, on the operations that its laws are about."""
    path = folder / f"my_{mistake.source}.py"
    path.write_text(mistake.source_text(), encoding="utf-8")
    started = time.perf_counter()
    with np.errstate(all="ignore"):
        report: Report = check(str(path), operations=mistake.operations[:1], seed=seed)
    return Named(mistake, report.diagnoses, time.perf_counter() - started)


def chosen(arguments: argparse.Namespace) -> list[PlantedMistake]:
    """Return the planted mistakes that the command line asks for."""
    return [
        mistake
        for mistake in planted()
        if (not arguments.operation or mistake.operations[0] in arguments.operation)
        and (not arguments.framework or mistake.framework in arguments.framework)
        and (not arguments.source or any(fnmatchcase(mistake.source, glob) for glob in arguments.source))
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Print what was not named, and the share that was; exit status 1 below 95 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--operation", nargs="*", default=[])
    parser.add_argument("--framework", nargs="*", default=[])
    parser.add_argument("--source", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(words)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for mistake in chosen(arguments):
            result = named(mistake, Path(folder), arguments.seed)
            results.append(result)
            if not result.first:
                print(result, flush=True)
    first, listed = (sum(getattr(result, name) for result in results) for name in ("first", "listed"))
    print(f"\n| planted | named first | named at all |\n| --- | --- | --- |\n| {len(results)} | {first} | {listed} |")
    return 0 if first >= 0.95 * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
