"""Find the smallest case that shows each planted mistake, and write smallest_cases.json, which the pages draw.

    python docs/smallest_cases.py                   what the file lacks, and what is planted no more goes
    python docs/smallest_cases.py --all             everything anew (half a minute)
    python docs/smallest_cases.py SLUG [SLUG ...]    these anew

A check finds and shrinks each case: one law on one program with the mistake in it. The pages can thus be built where
neither torch nor jax is installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.mistakes import Mistake, PlantedMistake, catalogue
from veriformer.conformance_tests.reports.arrays import axis_names, shape_of_result
from veriformer.conformance_tests.reports.figures import telling_digits
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.violation import inputs
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS, Operation

DATA = Path(__file__).resolve().parent / "smallest_cases.json"
_WIDTH = 100
_FURTHER_DIGITS = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the file up to date."""
    asked = _parsed(arguments)
    known = {} if asked.all else read()
    programs = {slug: chosen(mistake) for slug, mistake in catalogue().items() if mistake.planted}
    missing = [slug for slug in programs if slug in asked.slugs or slug not in known]
    found = {slug: case for slug, case in known.items() if slug in programs}
    with ProcessPoolExecutor(asked.workers) as pool:
        cases = pool.map(smallest, [programs[slug] for slug in missing])
        for number, (slug, case) in enumerate(zip(missing, cases, strict=True), 1):
            print(f"{number} of {len(missing)}: {slug}", flush=True)
            found[slug] = case
            write(found)
    return 0


def read() -> dict[str, Any]:
    """Return the cases by slug; none where there is no file yet."""
    cases: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.is_file() else {}
    return cases


def write(cases: Mapping[str, Any]) -> None:
    """Write the cases, one a line, in the order of the slugs."""
    lines = (f"{json.dumps(slug)}: {json.dumps(cases[slug], ensure_ascii=False)}" for slug in sorted(cases))
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def chosen(mistake: Mistake) -> PlantedMistake:
    """Return the form of a mistake that shows it best.

    One with a wrong result comes before one that raises, an operation before the layers that contain it, NumPy first.
    """
    frameworks = ("numpy", "torch", "jax")
    order = list(OPERATIONS)

    def rank(entry: PlantedMistake) -> tuple[bool, int, int]:
        operation = LAWS[entry.laws[0]].operation.name
        return entry.errors, order.index(operation), frameworks.index(entry.framework)

    return min(mistake.planted, key=rank)


def smallest(planted: PlantedMistake) -> dict[str, Any]:
    """Return the case on which the first law about a mistake fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"my_{planted.source}.py"
        path.write_text(planted.source_text(), encoding="utf-8")
        with np.errstate(all="ignore"):
            report = check(str(path), laws=planted.laws[:1], diagnosis=False)
    return _record(planted, report.results[0])


def _record(planted: PlantedMistake, result: LawResult) -> dict[str, Any]:
    record = {"planted": planted.name, "law": result.law.id}
    counterexample = result.counterexample
    if counterexample is not None:
        record |= _case(counterexample, result.law.operation)
    if result.status == "error" or counterexample is None:
        return {**record, "error": result.reason}
    return {**record, **_outcome(counterexample.verdict, result.law.operation)}


def _case(counterexample: Counterexample, operation: Operation) -> dict[str, Any]:
    case = counterexample.case.describe() if counterexample.case else ""
    lines = "\n".join(line.plain.rstrip() for line in inputs(counterexample, operation, Options(width=_WIDTH)))
    return {"case": case, "inputs": textwrap.dedent(lines).splitlines(), "note": counterexample.verdict.note}


def _outcome(verdict: Verdict, operation: Operation) -> dict[str, Any]:
    """Return what was expected, what came, and which entries are wrong; or both in words."""
    if verdict.wrong is None or isinstance(verdict.expected, str) or isinstance(verdict.actual, str):
        return {"expected": str(verdict.expected), "got": str(verdict.actual)}
    expected, got, wrong = (np.atleast_1d(array) for array in (verdict.expected, verdict.actual, verdict.wrong))
    names = axis_names(shape_of_result(operation, verdict.note), expected.ndim) or ()
    # Enough for the difference as well.
    digits = telling_digits(expected, got, wrong) + _FURTHER_DIGITS
    return {
        "axes": [name if name.isalpha() else "" for name in ("", "", *names)[-2:]],
        "expected": _figures(expected.tolist(), digits),
        "got": _figures(got.tolist(), digits),
        "wrong": wrong.tolist(),
    }


def _figures(nested: Any, digits: int) -> Any:
    """Return nested lists with shorter numbers; those that are not finite have no number in JSON."""
    if isinstance(nested, list):
        return [_figures(part, digits) for part in nested]
    return float(f"{nested:.{digits}g}") if np.isfinite(nested) else str(nested)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slugs", nargs="*", metavar="SLUG", help="mistakes to look at again")
    parser.add_argument("--all", action="store_true", help="look at all again")
    parser.add_argument("--workers", type=int, default=1, help="how many processes look")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
