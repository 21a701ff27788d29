"""`veriformer explain seeds`: the audit of the seed documents on the command line."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from veriformer.cli.application import application
from veriformer.cli.explanations import _pages
from veriformer.cli.failures import UserError
from veriformer.spec.laws import LAWS
from veriformer.spec.seeds import DOCUMENTS, ClaimVerdict, claims, claims_of


def shown(identifier: str) -> str:
    result = CliRunner().invoke(application, ("explain", identifier), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_overview_has_every_claim_with_its_verdict() -> None:
    rows = dict(re.findall(r"^  (\d{3}\.\d+) +(\w+)", shown("seeds"), re.MULTILINE))
    assert rows == {claim.id: claim.verdict.value for claim in claims()}


def test_the_overview_counts() -> None:
    text = shown("seeds")
    assert re.search(r"^all +62 +16 +27 +37 +142$", text, re.MULTILINE)
    for document in DOCUMENTS:
        wrong = sum(claim.verdict is ClaimVerdict.WRONG for claim in claims_of(document))
        assert re.search(rf"^{document} .* {wrong} +{len(claims_of(document))}$", text, re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_has_its_claims_and_no_others(document: str) -> None:
    text = shown(f"seeds.{document}")
    assert re.findall(r"^(\d{3}\.\d+) ", text, re.MULTILINE) == [claim.id for claim in claims_of(document)]
    assert all(f"line {claim.line}." in text for claim in claims_of(document))


def test_every_claim_has_a_page_that_says_what_decides_it() -> None:
    for claim in claims():
        (page,) = _pages(f"seeds.{claim.id}")
        text = "\n".join(line.plain for line in page)
        words = " ".join(text.split())
        assert " ".join(claim.passage.split()) in words
        assert claim.verdict.value in words
        assert " ".join(claim.exact.split()) in words
        assert all(LAWS[law].statement in words for law in claim.laws)
        assert all(f"step: {step.name}" in words for step in claim.steps)
        assert all(f"veriformer explain {name}" in words for name in claim.examples)
        assert (claim.reason in words) is (not claim.reason or "not decided" in words)


def test_the_commands_of_a_page_run() -> None:
    commands = re.findall(r"^  veriformer (.+)$", shown("seeds.002.3"), re.MULTILINE)
    assert {command.split()[0] for command in commands} == {"check", "derive", "explain"}
    for command in commands:
        result = CliRunner().invoke(application, command.split(), obj=command.split())
        assert result.exit_code == 0, (command, result.output)


def test_lines_fit_the_width() -> None:
    assert max(map(len, shown("seeds").splitlines())) <= 100


@pytest.mark.parametrize(
    ("unknown", "meant"), [("000.11", "seeds.000.11"), ("seeds.000.99", "seeds.000.9"), ("seed", "seeds")]
)
def test_an_unknown_id_gets_a_suggestion(unknown: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"did you mean .*{meant}"):
        CliRunner().invoke(application, ("explain", unknown), standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize("unknown", ["seeds.", "seeds.seeds", "000"])
def test_only_whole_ids_have_pages(unknown: str) -> None:
    with pytest.raises(UserError, match="nothing is called"):
        CliRunner().invoke(application, ("explain", unknown), standalone_mode=False, catch_exceptions=False)
