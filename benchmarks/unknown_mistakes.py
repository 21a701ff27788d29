"""What the suite says of a mistake that nobody has reported: every planted one in turn, as if it were not known.

    python benchmarks/unknown_mistakes.py [--operation NAME ...] [--framework NAME ...] [--source GLOB ...]

A mistake is taken out of the catalogue and of every family, and a program that makes it is checked and diagnosed. "None
of the known mistakes" is then the right answer. Another name is said to be certain only where its formula gives the
outputs of every call that was made; the script prints these, for whether the two are one mistake in two words is for a
reader to judge. Left out are mistakes that are a convention somewhere else, which no report is needed to know. Exit
status 1 where more than 10 % are given a name that is said to be certain or likely.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch

from diagnosis_power import Named, Program, add_choice, chosen, named, singles
from veriformer.conformance_tests.diagnosis import diagnose, named_by_laws
from veriformer.conformance_tests.diagnosis.diagnose import PAIR
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.reports.diagnoses import LIKELY
from veriformer.conformance_tests.variants import Decision, Family
from veriformer.spec.operations import OPERATIONS

MOST_NAMED = 0.10
ANSWERS = ("none that is known", "certain", "likely", "perhaps")


def without(family: Family, slug: str) -> Family:
    """Return a family, its parts included, in which nobody makes a mistake."""
    return replace(
        family,
        decisions=tuple(_without(decision, slug) for decision in family.decisions),
        parts={role: without(part, slug) for role, part in family.parts.items()},
    )


def _without(decision: Decision, slug: str) -> Decision:
    options = tuple(option for option in decision.options if option.status != "mistake" or option.slug != slug)
    return replace(decision, options=options)


def conventional() -> frozenset[str]:
    """Return the mistakes that are a convention of somebody else's."""
    families = [family for name in OPERATIONS if (family := family_of(name)) is not None]
    options = (one for family in families for decision in family.all_decisions.values() for one in decision.options)
    return frozenset(option.slug for option in options if option.status != "mistake" and option.slug)


@contextmanager
def not_known(slug: str) -> Iterator[None]:
    """Let diagnoses know nothing of a mistake."""

    def family(operation: str) -> Family | None:
        found = family_of(operation)
        return None if found is None else without(found, slug)

    others = {name: mistake for name, mistake in catalogue().items() if name != slug}
    with (
        patch.object(diagnose, "family_of", family),
        patch.object(named_by_laws, "family_of", family),
        patch.object(named_by_laws, "catalogue", lambda: others),
    ):
        yield


def said(program: Program, seed: int) -> Named:
    """Return what is said of a program whose mistake is not known."""
    (slug,) = program.slugs
    with not_known(slug):
        found = named(program, seed)
    assert found is not None, "only of two mistakes may one hide the other"
    return found


def answer(result: Named) -> str:
    """Return which of the answers a diagnosis is, in the words of the report."""
    # Nothing is searched for where every call raised.
    diagnosis = next((one for one in result.diagnoses if one.operation == result.program.operation), None)
    if diagnosis is None or diagnosis.how == "unknown":
        return "none that is known"
    sure = sum(suspect.confidence for suspect in diagnosis.suspects)
    if diagnosis.how == "named_by_laws":
        return "likely" if sure >= LIKELY else "perhaps"
    # A pair is told without a word of doubt; what explains moderate numbers alone is not.
    return "certain" if len(diagnosis.suspects) == 1 and sure >= PAIR else "likely"


def main(words: Sequence[str] | None = None) -> int:
    """Print what is named all the same, and a table of the answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_choice(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args(words)
    left_out = conventional()
    programs = [program for program in singles(chosen(arguments)) if not left_out.intersection(program.slugs)]
    answers: Counter[str] = Counter()
    with ProcessPoolExecutor(arguments.workers) as pool:
        for result in pool.map(partial(said, seed=arguments.seed), programs):
            told = answer(result)
            answers[told] += 1
            if told != "none that is known":
                print(f"{told}: {result}", flush=True)
    print(f"\n| programs | {' | '.join(ANSWERS)} |\n|{' --- |' * (1 + len(ANSWERS))}")
    print(f"| {answers.total()} | {' | '.join(str(answers[one]) for one in ANSWERS)} |")
    return 0 if answers["certain"] + answers["likely"] <= MOST_NAMED * answers.total() else 1


if __name__ == "__main__":
    sys.exit(main())
