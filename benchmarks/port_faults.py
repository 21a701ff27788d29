"""How often a mistake in a port of a model is found by `compare`, and whether a correct port is ever accused.

    python benchmarks/port_faults.py [PORT GLOB ...] [--seeds 0-4] [--where code|converter]
    python benchmarks/port_faults.py --held-out [PORT GLOB ...] [--seeds 0-4]
    python benchmarks/port_faults.py --strangers [PORT GLOB ...]
    python benchmarks/port_faults.py --correct [PORT GLOB ...] [--seeds 0-4] [--strangers]

The faults are those of `models/ports/faults.toml`, one at a time. The source and the changed port are compared, each
with its own weights. What counts is whether a difference is seen: the verdict "differ", or "inside" for a fault that no
output shows; and of the first difference whether it is in the right part, at the right step of the specification, and
whether its cause is named. Prints a table, and below it what was missed or found to be something else. Exit status 1
where fewer than 97 % are seen, the first difference is in the right part for fewer than 95 %, or the cause is named for
fewer than 85 %.

With `--held-out`, the faults are those of `models/ports/held_out.toml`, which were written after the comparison.
With `--strangers`, the ports and faults are those of `tests/ports/strangers`, whose weights know no seed.
With `--correct`, the ports are compared unchanged: they must agree, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "models"))

import port_planting

# The shares to reach: seen, first difference in the right part, cause named.
SEEN, LOCATED, NAMED = 0.97, 0.95, 0.85
_CUT = 160


@dataclass(frozen=True)
class Answer:
    """What a comparison says: its verdict, and the first difference, whose texts are empty where there is none.

    `harmless` is the number of differences that no output shows.
    """

    verdict: str
    path_a: str = ""
    path_b: str = ""
    step: str = ""
    kind: str = ""
    name: str = ""
    sentence: str = ""
    harmless: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What was said of one fault at one seed."""

    fault: port_planting.Fault
    seed: int
    answer: Answer

    @property
    def seen(self) -> bool:
        """Whether the verdict is that of the fault."""
        return self.answer.verdict == ("inside" if self.fault.visible == "inside" else "differ")

    @property
    def in_right_part(self) -> bool:
        """Whether the path of the right part is named, on either side."""
        return self.seen and is_in(self.fault, (self.answer.path_a, self.answer.path_b))

    @property
    def at_right_step(self) -> bool:
        """Whether the step of the specification is right."""
        return self.seen and self.answer.step in self.fault.step

    @property
    def named(self) -> bool:
        """Whether the cause is one of those that count as right."""
        name = self.answer.name.replace("_", " ").lower()
        words = [word.replace("_", " ").lower() for word in self.fault.names]
        return self.seen and self.answer.kind in self.fault.cause and any(word in name for word in words)

    @property
    def complaint(self) -> str:
        """What is wrong with the answer; "" where nothing is."""
        if not self.seen:
            return f"verdict {self.answer.verdict}: {self.answer.sentence}"
        wrong = []
        if not self.in_right_part:
            wrong.append(f"in `{self.answer.path_a}` | `{self.answer.path_b}`, not `{self.fault.part[0]}`")
        if not self.at_right_step:
            wrong.append(f"step {self.answer.step}, not {' or '.join(self.fault.step)}")
        if not self.named:
            wrong.append(f"named {self.answer.kind} `{self.answer.name}`, not `{self.fault.names[0]}`")
        return "; ".join([*wrong, self.answer.sentence]) if wrong else ""


def normal(path: str) -> str:
    """Return a path with dots only: those of JAX have brackets and quotes, those of Keras slashes."""
    return re.sub(r"[\[\]'\"/.]+", ".", path).strip(".")


def is_in(fault: port_planting.Fault, paths: Sequence[str]) -> bool:
    """Return whether one of some paths is that of the right part."""
    found = [normal(path) for path in paths]
    return any(_names(part, path) for part in fault.part for path in found)


def _names(part: str, path: str) -> bool:
    return path == normal(part[1:]) if part.startswith("=") else normal(part) in path


def compared(source: Path, port: Path) -> Answer:
    """Return what the comparison under test says of two files; everything that knows its interface is here."""
    from veriformer.conformance_tests import compare  # slow, and of no use where only help is asked for

    found: Any = compare(f"{source}:build", f"{port}:build")
    shown = [*found.differences] if found.verdict == "differ" else [*found.inside]
    if not shown:
        return Answer(found.verdict, harmless=len(found.inside))
    first = shown[0]
    cause = first.cause
    return Answer(
        found.verdict, first.path_a, first.path_b, first.step, cause.kind, cause.name, cause.sentence, len(found.inside)
    )


def answer(pair: str, text: str | None, seed: int) -> Answer:
    """Return what is said of a pair, the port perhaps changed; an exception is the verdict "error"."""
    started = time.monotonic()
    with port_planting.planted(pair, text) as (source, port), port_planting.seeded(seed):
        try:
            found = compared(source, port)
        except Exception as error:  # whatever a changed port raises, or the comparison itself, belongs in the table
            found = Answer("error", sentence=_told(error))
        finally:
            _forget_what_was_compiled()
    return Answer(**{**vars(found), "seconds": time.monotonic() - started})


def _told(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:_CUT]} ({Path(last.filename).name}:{last.lineno})"


def _forget_what_was_compiled() -> None:
    # Every model is compiled for itself; hundreds of them together fill the memory.
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return one row of the table of faults."""
    counts = (
        len(outcomes),
        sum(one.seen for one in outcomes),
        sum(one.in_right_part for one in outcomes),
        sum(one.at_right_step for one in outcomes),
        sum(one.named for one in outcomes),
    )
    return f"| {name} | " + " | ".join(map(str, counts)) + " |"


def print_faults(outcomes: Sequence[Outcome]) -> None:
    """Print the table, and what was missed or found to be something else."""
    print("\n| port | faults | seen | first in the right part | at the right step | cause named |\n|" + " --- |" * 6)
    for pair in dict.fromkeys(one.fault.pair for one in outcomes):
        print(row(pair, [one for one in outcomes if one.fault.pair == pair]))
    for where in ("code", "converter"):
        print(row(f"all in the {where}", [one for one in outcomes if one.fault.where == where]))
    print(row("all", outcomes))
    shares = " | ".join(f"{100 * share:.1f} %" for share in shares_of(outcomes))
    print(f"\nseen | in the right part | named: {shares}; aims: {SEEN:.0%} | {LOCATED:.0%} | {NAMED:.0%}")
    print(f"slowest comparison: {max(one.answer.seconds for one in outcomes):.1f} s")
    for title, some in (
        ("Not seen", [one for one in outcomes if not one.seen]),
        ("Found to be something else", [one for one in outcomes if one.seen and one.complaint]),
    ):
        if some:
            print(f"\n{title}:\n")
        for one in some:
            print(f"- seed {one.seed}, {one.fault}\n    {one.complaint}")


def shares_of(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Return the shares that are seen, located and named."""
    count = len(outcomes)
    return (
        sum(one.seen for one in outcomes) / count,
        sum(one.in_right_part for one in outcomes) / count,
        sum(one.named for one in outcomes) / count,
    )


def reaches_aims(outcomes: Sequence[Outcome]) -> bool:
    """Return whether enough faults are seen, located and named."""
    return all(share >= aim for share, aim in zip(shares_of(outcomes), (SEEN, LOCATED, NAMED), strict=True))


def print_correct(pairs: Sequence[str], seeds: Sequence[int]) -> bool:
    """Print the table of correct ports, and what they are accused of; return whether none is."""
    print("| port | from | in | seeds | agree | differences inside | slowest |\n|" + " --- |" * 7)
    accused = []
    for pair in pairs:
        found = [(seed, answer(pair, None, seed)) for seed in seeds]
        accused += [(pair, seed, one) for seed, one in found if one.verdict != "agree"]
        agree, harmless = sum(one.verdict == "agree" for _, one in found), max(one.harmless for _, one in found)
        slowest = max(one.seconds for _, one in found)
        names = f"{pair} | {port_planting.source_of(pair)} | {port_planting.framework_of(pair)}"
        print(f"| {names} | {len(found)} | {agree} | {harmless} | {slowest:.1f} s |", flush=True)
    for pair, seed, one in accused:
        print(f"- {pair}, seed {seed}: {one.verdict}, `{one.path_a}` | `{one.path_b}`, {one.step}: {one.sentence}")
    return not accused


def main(words: Sequence[str] | None = None) -> int:
    """Print the table of faults, or that of correct ports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ports", nargs="*", default=["*"], help="globs of the ports' names")
    parser.add_argument("--seeds", type=port_planting.seeds_in, default=[0], help="one seed, or a range such as 0-4")
    parser.add_argument("--where", choices=("code", "converter"), help="faults in one of the two only")
    parser.add_argument("--correct", action="store_true", help="compare the ports without a fault")
    parser.add_argument("--held-out", action="store_true", help="the faults of models/ports/held_out.toml")
    parser.add_argument("--strangers", action="store_true", help="the ports and faults of tests/ports/strangers")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    every = port_planting.PAIRS_OF_STRANGERS if options.strangers else port_planting.PAIRS
    pairs = port_planting.chosen(options.ports, every)
    if not pairs:
        parser.error(f"no port is called {' or '.join(options.ports)}; there are {', '.join(every)}")
    if options.correct:
        return 0 if print_correct(pairs, options.seeds) else 1
    file = port_planting.HELD_OUT if options.held_out else port_planting.FAULTS
    file = port_planting.FAULTS_OF_STRANGERS if options.strangers else file
    faults = [one for one in port_planting.faults(options.ports, file) if options.where in (None, one.where)]
    outcomes = [
        Outcome(fault, seed, answer(fault.pair, fault.text, seed)) for fault in faults for seed in options.seeds
    ]
    print_faults(outcomes)
    return 0 if reaches_aims(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
