"""Whether a correct model is ever accused of breaking a law, as a whole or in a part, and how long its laws take.

    python benchmarks/model_laws.py [MODEL GLOB ...] [--frameworks torch jax ...] [--seeds 0-2] [--parts]

Takes the correct models of `model_faults.py --correct`. Prints for each model the laws that hold, by their subjects,
those that are not declared, those that could not be judged, and the seconds that they took on this machine. With
`--parts` the laws of the parts are tried alone. Exit status 1 where a law is broken that must hold, but for what
docs/findings.md says of a library.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import model_faults
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.whole_models.session import opened
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.model_laws import judged, parts_judged

# Models with laws that they break, as docs/findings.md says.
_FINDINGS = {"transformers openai_gpt *": ("multi_head.scale", "multi_head.large_logits")}
_STATUSES = ("passed", "failed", "error", "not_declared")


def laws_of(model: Any, inputs: Any, name: str, seed: int, *, parts: bool) -> tuple[tuple[Judged, ...], float]:
    """Return the laws of a model and of its parts, or of these alone, and the seconds that they took."""
    with opened(find_model(model, name), inputs, seed=seed) as session:
        recognition = recognise(session.trace)
        started = time.monotonic()
        found = parts_judged(session, recognition.bound, seed) if parts else judged(session, recognition, name, seed)
        return found, time.monotonic() - started


def row(name: str, judged: Sequence[Judged], seconds: float) -> str:
    """Return a row of the table."""
    results = [result for one in judged for result in one.report.results]
    keys = {status: [one.law.claim.key for one in results if one.status == status] for status in _STATUSES}
    counts = " | ".join(str(len(keys[status])) for status in _STATUSES)
    return f"| {name} | {counts} | {seconds:.1f} |"


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; what fails and what could not be judged follows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=["*"], help="globs of the models' names")
    parser.add_argument("--frameworks", nargs="+", choices=model_faults.FRAMEWORKS, default=model_faults.FRAMEWORKS)
    parser.add_argument("--seeds", type=model_faults._seeds, default=[0], help="one seed, or a range such as 0-2")
    parser.add_argument("--parts", action="store_true", help="try the laws of the parts alone")
    parser.add_argument("--verbose", action="store_true", help="list the laws that hold")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    print("| model | hold | fail | not judged | not declared | seconds |\n|" + " --- |" * 6)
    remarks, failed = [], 0
    for name, build in model_faults._correct_models(options.frameworks):
        if not any(fnmatchcase(name, glob) for glob in options.models):
            continue
        for seed in options.seeds:
            try:
                found, seconds = laws_of(*build(), name, seed, parts=options.parts)
            except Exception as error:  # whatever a model raises belongs in the table
                remarks.append(f"{name}: {type(error).__name__}: {error}")
                continue
            finally:
                model_faults._forget_what_was_compiled()
            print(row(name, found, seconds), flush=True)
            for one in found:
                known = {law for glob, laws in _FINDINGS.items() if fnmatchcase(name, glob) for law in laws}
                failed += sum(result.law.id not in known for result in one.broken)
                remarks += [f"{name}: no laws of `{one.path}`: {one.reason}"] if one.reason else []
                if options.verbose and one.is_part:
                    print(f"  {one.path}, {one.operation}")
                for result in one.report.results:
                    if options.verbose and result.status == "passed":
                        print(f"    {result.law.id} ({result.cases})")
                    if result.status in ("failed", "error"):
                        case = result.counterexample.case if result.counterexample else None
                        where = f"{name}, seed {seed}, {one.path or 'whole'}"
                        remarks.append(
                            f"{where}: {result.law.id} {result.status}: {result.reason} "
                            f"{case.describe() if case else ''} (excess {result.largest_excess:.2g})"
                        )
    print("\n" + "\n".join(f"- {remark}" for remark in remarks))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
