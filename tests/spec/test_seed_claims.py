"""The claims of the seed documents: verbatim, decided by what exists, and their numbers recomputed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sympy
from veriformer.spec.derivations import load_derivation
from veriformer.spec.laws import LAWS
from veriformer.spec.seeds import DOCUMENTS, Claim, ClaimVerdict, claims, claims_of
from veriformer.spec.worked_examples import Verdict, load_worked_example, worked_example_ids
from veriformer.spec.worked_examples.example import entries

SEEDS = Path(__file__).parents[2] / "docs" / "seeds"
CLAIMS = claims()
each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
NUMBER = re.compile(r"(?<![\w.,])(\d+\.\d+|\d{1,3}(?:,\d{3})+)( %)?")
# Claims about words, history and typesetting; whoever adds one here says in the data why nothing decides it.
UNDECIDABLE = {"001.13", "002.13", "002.16", "002.19", "004.4", "004.5"}
JUDGED = (Verdict.WRONG, Verdict.CONDITIONAL)


@cache
def text_of(document: str) -> str:
    return (SEEDS / f"{document}.txt").read_text(encoding="utf-8")


@each_claim
def test_the_fragment_begins_on_its_line(claim: Claim) -> None:
    lines = text_of(claim.document).split("\n")
    start = "\n".join(lines[claim.line - 1 :]).find(claim.fragment)
    assert 0 <= start < len(lines[claim.line - 1])


@each_claim
def test_the_passage_is_verbatim_and_contains_the_fragment(claim: Claim) -> None:
    text = text_of(claim.document)
    begins = [match.start() for match in re.finditer(re.escape(claim.passage), text)]
    fragment = sum(len(line) + 1 for line in text.split("\n")[: claim.line - 1])
    line_end = text.index("\n", fragment)
    assert claim.fragment in claim.passage
    assert any(begin < line_end and begin + len(claim.passage) > fragment for begin in begins)


def test_ids_are_unique_and_count_from_one() -> None:
    for document in DOCUMENTS:
        numbers = sorted(int(claim.id.removeprefix(f"{document}.")) for claim in claims_of(document))
        assert numbers == list(range(1, len(numbers) + 1))


def test_claims_stand_in_the_order_of_their_document() -> None:
    for document in DOCUMENTS:
        lines = [claim.line for claim in claims_of(document)]
        assert lines == sorted(lines)


def test_the_counts_are_those_of_the_audit() -> None:
    assert Counter(claim.verdict.value for claim in CLAIMS) == {
        "correct": 62,
        "wrong": 37,
        "imprecise": 27,
        "conditional": 16,
    }
    assert Counter(claim.document for claim in CLAIMS) == {"000": 37, "001": 29, "002": 39, "003": 8, "004": 29}


@each_claim
def test_what_decides_a_claim_exists(claim: Claim) -> None:
    assert set(claim.laws) <= set(LAWS)
    assert set(claim.examples) <= set(worked_example_ids())
    for step in claim.steps:
        assert step.name in {proved.name for proved in load_derivation(step.derivation).steps}


@each_claim
def test_a_claim_is_decided_or_says_why_not(claim: Claim) -> None:
    decided = bool(claim.laws or claim.steps or claim.examples)
    assert decided is not bool(claim.reason)
    assert decided is (claim.id not in UNDECIDABLE)


@each_claim
def test_what_is_not_right_is_put_right(claim: Claim) -> None:
    assert claim.exact or claim.reason or claim.verdict is ClaimVerdict.CORRECT


@each_claim
def test_the_verdict_is_that_of_the_worked_examples(claim: Claim) -> None:
    """Whose own verdicts are computed: one wrong number makes a claim wrong, and a wrong claim has one."""
    found = {load_worked_example(name).verdict for name in claim.examples}
    if claim.verdict is ClaimVerdict.WRONG:
        assert not found or Verdict.WRONG in found
    elif claim.verdict is not ClaimVerdict.IMPRECISE:
        assert Verdict.WRONG not in found
    if claim.verdict is ClaimVerdict.CONDITIONAL:
        assert not found or found & {Verdict.CONDITIONAL, Verdict.NOT_GIVEN}
    if claim.verdict is ClaimVerdict.CORRECT:
        assert Verdict.CONDITIONAL not in found


def test_wrong_and_conditional_claims_have_worked_examples_but_for_those_of_words() -> None:
    judged = [claim for claim in CLAIMS if claim.verdict in (ClaimVerdict.WRONG, ClaimVerdict.CONDITIONAL)]
    without = {claim.id for claim in judged if not claim.examples}
    assert without == {"002.7", "002.16", "004.5", "004.14", "004.24"}


@each_claim
def test_a_printed_number_has_a_worked_example(claim: Claim) -> None:
    """A decimal, an equation between numbers, or a product of sizes in the fragment asks for exact arithmetic."""
    if re.search(r"\d\.\d|[=≈] ?\$?\[*[\d(]|\d ?[×/] ?\d|\dx\d", claim.fragment):
        assert claim.examples or claim.id in UNDECIDABLE


def test_every_worked_example_that_judges_something_belongs_to_a_claim() -> None:
    """A wrong or conditional number is a claim that the audit must not have missed."""
    cited = {name for claim in CLAIMS for name in claim.examples}
    judged = {name for name in worked_example_ids() if load_worked_example(name).verdict in JUDGED}
    assert judged <= cited


@each_claim
def test_numbers_of_what_is_right_are_recomputed(claim: Claim) -> None:
    known = values(claim)
    for digits, percent in NUMBER.findall(claim.exact):
        assert is_rounded(digits, percent, known), digits


def test_a_wrong_digit_is_seen() -> None:
    checked = 0
    for claim in CLAIMS:
        for digits, percent in NUMBER.findall(claim.exact):
            if len(digits) < 5:
                continue
            altered = digits[:-1] + str((int(digits[-1]) + 5) % 10)
            assert not is_rounded(altered, percent, values(claim)), altered
            checked += 1
    assert checked > 70


def test_claims_load_without_sympy() -> None:
    script = "import sys; from veriformer.spec.seeds import claims, sections; claims(), sections('000')\n"
    script += "assert not {'sympy', 'numpy', 'torch', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_an_unknown_document_is_named() -> None:
    with pytest.raises(KeyError, match="'005'"):
        claims_of("005")


@cache
def values(claim: Claim) -> list[Fraction]:
    """Return the sizes of all numbers that the worked examples of a claim compute."""
    found: list[Any] = []
    for name in claim.examples:
        example = load_worked_example(name)
        found += entries(example.exact)
        found += () if example.otherwise is None else entries(example.otherwise)
        found += () if example.execution is None else entries(example.execution.result)
    numbers = [entry for entry in found if getattr(entry, "is_number", False) and entry.is_finite]
    return [abs(Fraction(str(sympy.N(entry, 30)))) for entry in numbers]


def is_rounded(digits: str, percent: str, known: list[Fraction]) -> bool:
    """Return whether the text is one of the numbers, rounded to the digits that it shows."""
    unit = Fraction(1, 10 ** len(digits.partition(".")[2])) / (100 if percent else 1)
    shown = Fraction(digits.replace(",", "")) / (100 if percent else 1)
    return any(abs(value - shown) <= unit / 2 for value in known)
