"""The pages of `veriformer explain`: they open with two sentences, fit, and are in the notation of no program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import pytest
from click.testing import CliRunner
from veriformer.cli import pages
from veriformer.cli.application import application
from veriformer.cli.decision_pages import decision_pages
from veriformer.cli.failures import UserError
from veriformer.cli.law_pages import law_page
from veriformer.cli.mistake_pages import mistake_page
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.decisions import choice_names, decision_names, decisions_named
from veriformer.conformance_tests.reports.layout import Lines
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

RAW = re.compile(
    r"\\|\b(Sum|Integral|Piecewise|Quotient|Remainder|Partial|Expectation|Variance|KroneckerDelta|Rational|Symbol)\("
)
CODE = re.compile(r" +[-+] ")


def every_page() -> Iterator[tuple[str, str, Lines]]:
    yield from (("law", name, law_page(law)) for name, law in LAWS.items())
    yield from (("operation", name, pages.operation_page(one)) for name, one in OPERATIONS.items())
    yield from (("convention", name, pages.convention_page(one)) for name, one in CONVENTIONS.items())
    yield from (("mistake", name, mistake_page(one)) for name, one in catalogue().items())
    yield from (("decision", name, page) for name in decision_names() for page in decision_pages(name))


@pytest.fixture(scope="module")
def all_pages() -> list[tuple[str, str, Lines]]:
    return list(every_page())


def words(text: str) -> str:
    return " ".join(text.split())


def opening(page: Lines) -> str:
    """Return the paragraph under the heading."""
    lines = [line.plain for line in page]
    return words(" ".join(lines[1 : lines.index("")]))


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(application, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return words(result.output)


def test_every_page_fits_and_none_shows_the_notation_of_a_program(all_pages: list[tuple[str, str, Lines]]) -> None:
    lines = [(name, line.plain) for _, name, page in all_pages for line in page]
    assert not [(name, line) for name, line in lines if len(line) > 100]
    assert not [(name, line) for name, line in lines if RAW.search(line) and not CODE.match(line)]


def test_every_page_opens_with_two_sentences(all_pages: list[tuple[str, str, Lines]]) -> None:
    for kind, name, page in all_pages:
        text = opening(page)
        assert text[-1] in ".?", (kind, name, text)
        assert len(re.findall(r"[.?](?= [A-Z]|$)", text)) >= 2, (kind, name, text)


def test_the_first_sentence_of_a_law_is_its_statement_and_the_second_what_breaks_it(
    all_pages: list[tuple[str, str, Lines]],
) -> None:
    for name, page in ((name, page) for kind, name, page in all_pages if kind == "law"):
        assert opening(page).startswith(words(LAWS[name].statement))
    causal = opening(law_page(LAWS["attention.causal.no_future_leak"]))
    assert "Programs break it by mistakes such as causal_dropped_without_explicit_mask (" in causal


@pytest.mark.parametrize("name", derivation_ids())
def test_a_derivation_is_shown_without_its_proof_unless_asked_for(name: str) -> None:
    short = "\n".join(line.plain for line in pages.derivation_page(name))
    assert f"veriformer explain {name} --proof" in short
    assert "Proof of (1)" not in short
    assert max(map(len, short.splitlines())) <= 100


def test_a_choice_without_a_slug_is_explained() -> None:
    text = shown("explain", "scale=fourth_root")
    assert "By what are the inner products multiplied?" in text
    assert "a mistake: the scale is D^(−1/4)." in text
    assert "not in the catalogue" in text
    assert "scaled_dot_product_attention" in text
    assert "given_or_inverse_root_of_width standard" in text


def test_a_choice_that_is_a_mistake_of_the_catalogue_names_it() -> None:
    text = shown("explain", "causal_diagonal=causal_mask_negated")
    assert "mistake causal_mask_transposed (veriformer explain causal_mask_transposed)" in text


def test_a_choice_of_a_convention_says_who_follows_it() -> None:
    convention = CONVENTIONS["causal_alignment"]
    value = next(one for one in convention.values if one.name == "bottom_right")
    text = shown("explain", "causal_alignment=bottom_right")
    assert f"followed by {words(value.followed_by)}" in text
    assert "causal_top_left_vs_bottom_right where another value is declared" in text


def test_a_decision_is_found_with_the_part_of_an_operation_that_it_is_made_in() -> None:
    assert [one.name for one in decisions_named("self_attention.attention.scale")] == ["scale"]
    assert "When is attention causal?" in shown("explain", "causal_when")


def test_every_choice_has_a_page() -> None:
    named = list(choice_names())
    assert len(named) > 1000
    for name in named:
        assert decision_pages(name), name


@pytest.mark.parametrize(
    ("identifier", "meant"),
    [("scale=lenght", "scale=length"), ("causal_wen", "causal_when"), ("scale=", "veriformer explain DECISION")],
)
def test_an_unknown_choice_gets_a_suggestion(identifier: str, meant: str) -> None:
    invoke = partial(CliRunner().invoke, application, standalone_mode=False, catch_exceptions=False)
    with pytest.raises(UserError, match=re.escape(meant)):
        invoke(("explain", identifier))
