"""The smallest mistake that is always found, by the suite's laws and by the rules that other projects judge by.

    python benchmarks/detection_floor.py [--runs 200] [--seeds 20] [--quick]

An attention in torch is made wrong by a share δ of its scale, or lets hidden keys keep a share δ of their weight. The
floor is the smallest δ, on a grid of eight to a decade, that is flagged in every one of the runs, each with inputs of
its own. Every rule judges the same results: those that the law's check asked for. A third table is about whole runs of
`check`, which draw their own sizes. Exit status 1 when the suite accuses the right program, or its floor is higher than
the one that it is held to.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import torch
from rules import RULES, Result
from slightly_wrong import EagerAttention, FusedAttention
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.subject import Subject
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.operations.attention_backward.inputs import BackwardInputs
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws

Mistake = Literal["scale", "leak", "gradient"]
OURS = "Veriformer"
_STEPS = 8
_SMALLEST = -38 * _STEPS
_FORWARD, _BACKWARD = "scaled_dot_product_attention", "scaled_dot_product_attention_backward"
# On inputs from a normal distribution, and on those that the suite makes for this mistake.
ORDINARY = {
    "scale": ("attention.scale",),
    "leak": ("attention.mask.value",),
    "gradient": tuple(f"attention_backward.grad_{name}" for name in ("query", "key", "value")),
}
SHARP = {
    "scale": ("attention.scale.faint_key",),
    "leak": ("attention.mask.no_share",),
    "gradient": ("attention_backward.scale.faint_key",),
}


@dataclass(frozen=True)
class Regime:
    """A mistake, where it is made, and the floor that the suite is held to."""

    mistake: Mistake
    dtype: str
    sizes: tuple[int, int, int]
    held_to: float
    eager: bool = False

    def __str__(self) -> str:
        """Return the row's title."""
        name = {"scale": "scale", "leak": "mask leak", "gradient": "scale, gradients"}[self.mistake]
        return f"{name}, {self.dtype}{' eager' if self.eager else ''} {'×'.join(map(str, self.sizes))}"

    @property
    def smallest(self) -> int:
        """The step of the grid below which no mistake is looked for."""
        return _SMALLEST if self.mistake == "leak" else -9 * _STEPS

    def case(self, run: int) -> AttentionCase:
        """Return the case of one run: one head, no two runs alike."""
        queries, keys, width = self.sizes
        return AttentionCase(
            batch=1,
            heads=1,
            kv_heads=1,
            query_length=queries,
            key_length=keys,
            head_width=width,
            value_width=width,
            dtype=self.dtype,
            palette="normal",
            mask="random" if self.mistake == "leak" else "none",
            seed=run,
        )


REGIMES = (
    Regime("scale", "float32", (5, 7, 4), 7.5e-6),
    Regime("scale", "float32", (16, 32, 16), 1.3e-5),
    Regime("scale", "float32", (16, 1024, 64), 1.8e-5),
    Regime("scale", "bfloat16", (16, 32, 16), 1.0e-2),
    Regime("scale", "float16", (16, 32, 16), 1.3e-3),
    Regime("scale", "bfloat16", (16, 32, 16), 5.6e-2, eager=True),
    Regime("scale", "bfloat16", (16, 1024, 64), 3.2e-2, eager=True),
    Regime("leak", "float32", (5, 7, 4), 2.4e-6),
    Regime("leak", "bfloat16", (16, 32, 16), 4.2e-3),
    Regime("gradient", "float32", (5, 7, 4), 1.0e-5),
)


@dataclass
class Bench:
    """One regime under the checks of some laws: what each rule makes of a mistake of a given size."""

    regime: Regime
    laws: tuple[str, ...]
    runs: int
    _known: dict[tuple[float, int], dict[str, float]] = field(default_factory=dict)
    _naive_results: dict[int, np.ndarray | None] = field(default_factory=dict)

    @cached_property
    def program(self) -> FusedAttention:
        """The implementation under test, whose mistake is set before each call."""
        return EagerAttention() if self.regime.eager else FusedAttention()

    @cached_property
    def subject(self) -> Subject:
        """The operation under test, its conventions settled as a check settles them."""
        checks = laws()
        return examine(load(self.program), checks[self.laws[0]].statement.operation).subject

    def exceeded(self, size: float, run: int) -> dict[str, float]:
        """Return by how much each rule is exceeded in one run."""
        if (size, run) not in self._known:
            self._known[size, run] = self._judged(size, run)
        return self._known[size, run]

    def _judged(self, size: float, run: int) -> dict[str, float]:
        leaks = self.regime.mistake == "leak"
        self.program.scale_error, self.program.leak = (0.0, size) if leaks else (size, 0.0)
        case, found = self.regime.case(run), dict.fromkeys((OURS, *RULES), 0.0)
        for name in self.laws:
            trial = Trial(self.subject, case, draw_inputs(self.subject.operation.name, case))
            verdict = laws()[name].judge(trial)
            if not isinstance(verdict.expected, np.ndarray) or not isinstance(verdict.actual, np.ndarray):
                raise TypeError(f"{name} does not compare arrays")
            if run not in self._naive_results:
                self._naive_results[run] = self._naive()
            result = Result(self.regime.dtype, verdict.expected, verdict.actual, self._naive_results[run])
            beside = {rule: exceeds(result) for rule, exceeds in RULES.items()}
            found = {rule: max(found[rule], {OURS: verdict.excess, **beside}[rule]) for rule in found}
        return found

    def _naive(self) -> np.ndarray | None:
        """Return what the last call should have been to the naive program; None for gradients."""
        if self.regime.mistake == "gradient":
            return None
        arguments = {
            name: torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
            for name, value in self.subject.calls[-1].arguments.items()
        }
        dtype = getattr(torch, self.regime.dtype)
        given = {
            name: value.to(dtype) if name in ("query", "key", "value") else value for name, value in arguments.items()
        }
        return np.asarray(EagerAttention().scaled_dot_product_attention(**given).to(torch.float64).numpy())

    def alarms(self, rule: str) -> float:
        """Return the share of runs in which the rule accuses the right program."""
        return sum(self.exceeded(0.0, run)[rule] > 1.0 for run in range(self.runs)) / self.runs

    def least_factor(self, rule: str) -> float:
        """Return the factor by which a rule must be loosened so as not to accuse the right program, at least 1."""
        return max(1.0, *(self.exceeded(0.0, run)[rule] for run in range(self.runs)))

    def floor(self, rule: str, factor: float = 1.0) -> float | None:
        """Return the smallest mistake that a rule, loosened by a factor, flags in every run; None where none is."""
        if not math.isfinite(factor):
            return None

        def flagged(step: int) -> bool:
            return all(self.exceeded(10.0 ** (step / _STEPS), run)[rule] > factor for run in range(self.runs))

        return _first(flagged, self.regime.smallest)


@contextmanager
def remembered_expectations() -> Iterator[None]:
    """Compute what is exact, and what is allowed, once for the same inputs: mistakes of many sizes meet each."""
    known: dict[bytes, Expected] = {}

    def remembering(compute: Callable[[Any, Conventions], Expected]) -> Callable[[Any, Conventions], Expected]:
        def expected(inputs: Any, conventions: Conventions) -> Expected:
            digest = hashlib.sha256(repr((type(inputs).__name__, sorted(conventions.items()))).encode())
            for name, value in sorted(vars(inputs).items()):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else repr(value).encode())
            key = digest.digest()
            if key not in known:
                known[key] = compute(inputs, conventions)
            return known[key]

        return expected

    with ExitStack() as stack:
        for kind in (AttentionInputs, BackwardInputs):
            stack.enter_context(patch.object(kind, "expected", remembering(kind.expected)))
        yield


def _first(flagged: Callable[[int], bool], below: int) -> float | None:
    """Return the smallest step of the grid that is flagged, by bisection: larger mistakes are easier to see."""
    above = 0
    if not flagged(above):
        return None
    while above - below > 1:
        middle = (above + below) // 2
        above, below = (middle, below) if flagged(middle) else (above, middle)
    return float(10.0 ** (above / _STEPS))


def shown(value: float | None) -> str:
    """Return a floor as it stands in the table."""
    return "✗" if value is None else f"{value:.1e}".replace("e-0", "e-").replace("e+00", "")


def cell(bench: Bench, rule: str) -> str:
    """Return a rule's floor, and if it accuses the right program, how often and what is left after loosening."""
    if rule == "FlashAttention" and bench.regime.mistake == "gradient":
        return "–"
    alarms = bench.alarms(rule)
    floor = shown(bench.floor(rule)) if alarms < 1.0 else ""
    if alarms == 0.0:
        return floor
    loosened = f"accuses {alarms:.1%} → {shown(bench.floor(rule, bench.least_factor(rule)))}"
    return loosened if alarms == 1.0 else f"{floor}, {loosened}"


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = tuple(header)
    lines = [head, tuple("---" for _ in head), *map(tuple, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def table(regimes: Iterable[Regime], which: dict[str, tuple[str, ...]], runs: int) -> tuple[str, list[Bench]]:
    """Return the table of all rules on the inputs of some laws, and the benches behind it."""
    benches = [Bench(regime, which[regime.mistake], runs) for regime in regimes]
    rows = []
    for bench in benches:
        rows.append((str(bench.regime), *(cell(bench, rule) for rule in (OURS, *RULES))))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return markdown(("mistake", OURS, *RULES), rows), benches


def checked(regimes: Iterable[Regime], seeds: int) -> tuple[str, list[str]]:
    """Return the table of what whole runs of `check` find, and which right programs they accuse."""
    rows, accused = [], []
    for regime in {(regime.mistake, regime.dtype, regime.eager): regime for regime in regimes}.values():
        program = EagerAttention() if regime.eager else FusedAttention()

        def violated(size: float, seed: int, regime: Regime = regime, program: FusedAttention = program) -> bool:
            leaks = regime.mistake == "leak"
            program.scale_error, program.leak = (0.0, size) if leaks else (size, 0.0)
            chosen, dtypes = SHARP[regime.mistake], (regime.dtype,)
            report = check(program, laws=chosen, dtypes=dtypes, seed=seed, shrink=False, diagnosis=False)
            return report.verdict == "violates"

        def found(step: int, violated: Callable[[float, int], bool] = violated) -> bool:
            return all(violated(10.0 ** (step / _STEPS), seed) for seed in range(seeds))

        title = str(regime).rpartition(" ")[0]
        accused += [
            f"{title}, seed {seed}: the right program is accused" for seed in range(seeds) if violated(0.0, seed)
        ]
        floor = _first(found, regime.smallest)
        rows.append((title, f"`{SHARP[regime.mistake][0]}`", shown(floor)))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return markdown(("mistake", "law", "found at every seed"), rows), accused


def faults(benches: Iterable[Bench]) -> list[str]:
    """Return where the suite does not find what it is held to, or accuses the right program."""
    found = []
    for bench in benches:
        floor = bench.floor(OURS)
        if bench.alarms(OURS) > 0.0:
            found.append(f"{bench.regime}: the right program is accused")
        # The grid's steps have two digits in the table.
        if floor is None or floor > 1.05 * bench.regime.held_to:
            found.append(f"{bench.regime}: {shown(floor)} is found, {bench.regime.held_to:.1e} must be")
    return found


def arguments() -> argparse.Namespace:
    """Return what was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20, help="how many runs of `check` there are")
    parser.add_argument("--quick", action="store_true", help="20 runs of two cheap rows, and 2 runs of `check`")
    return parser.parse_args()


def main() -> int:
    """Print both tables; 1 when the suite is not as sharp as it is held to be."""
    asked = arguments()
    torch.set_num_threads(1)
    regimes = (REGIMES[0], REGIMES[7]) if asked.quick else REGIMES
    runs, seeds = (20, 2) if asked.quick else (asked.runs, asked.seeds)
    with remembered_expectations():
        ordinary, _ = table(regimes, ORDINARY, runs)
        sharp, benches = table(regimes, SHARP, runs)
        found = faults(benches)
    whole, accused = checked(regimes, seeds)
    found += accused
    print(f"Inputs from a normal distribution, {runs} runs:\n\n{ordinary}\n")
    print(f"Inputs that the laws make for these mistakes, {runs} runs:\n\n{sharp}\n")
    print(f"Runs of `check`, tier standard, {seeds} seeds:\n\n{whole}")
    if found:
        print("", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
