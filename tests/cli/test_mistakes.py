"""`veriformer list mistakes` and `veriformer explain MISTAKE`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from veriformer.cli.application import application
from veriformer.cli.failures import UserError
from veriformer.cli.mistake_pages import mistake_page
from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.mistakes import catalogue, caught_by
from veriformer.conformance_tests.mistakes.kills import shown_in
from veriformer.spec.laws import LAWS


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(application, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: str) -> str:
    with pytest.raises(UserError) as error:
        CliRunner().invoke(application, arguments, standalone_mode=False, catch_exceptions=False)
    return error.value.message


def words(text: str) -> str:
    return " ".join(text.split())


def slugs(listing: str) -> list[str]:
    """Return what stands at the beginning of the lines, without the totals."""
    return [line.split()[0] for line in listing.partition("\n\n")[0].splitlines() if line[:1].strip()]


def test_the_listing_has_every_mistake_once() -> None:
    text = shown("list", "mistakes")
    assert slugs(text) == list(catalogue())
    reported = sum(bool(mistake.citations) for mistake in catalogue().values())
    assert f"{len(catalogue())} mistakes: " in text
    assert f"{reported} reported in" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_listing_says_where_a_mistake_is_caught() -> None:
    text = words(shown("list", "mistakes"))
    scale = catalogue()["scale_missing"]
    assert words(f"scale_missing {scale.sentence} {first_few(scale.operations)}") in text
    dropped = catalogue()["dropout_after_residual"]
    assert words(f"dropout_after_residual {dropped.sentence} not planted ({dropped.group})") in text


@pytest.mark.parametrize("operations", [("gelu",), ("alibi_bias", "gelu")])
def test_the_listing_of_operations_has_theirs(operations: tuple[str, ...]) -> None:
    options = [word for name in operations for word in ("--operation", name)]
    expected = [slug for slug, mistake in catalogue().items() if {*operations} & {*shown_in(mistake)}]
    assert expected
    assert slugs(shown("list", "mistakes", *options)) == expected


def test_a_mistake_is_listed_where_only_laws_about_something_else_see_it() -> None:
    assert "softmax_wrong_axis" in slugs(shown("list", "mistakes", "--operation", "scaled_dot_product_attention"))
    assert "scaled_dot_product_attention" in shown("explain", "softmax_wrong_axis")


def test_the_listing_of_an_operation_has_its_remark() -> None:
    assert "The catalogue has no mistake of SiLU itself" in shown("list", "mistakes", "--operation", "silu")


def test_an_unknown_operation_gets_a_suggestion() -> None:
    assert "did you mean softmax?" in refused("list", "mistakes", "--operation", "sofmax")


def test_operations_select_among_mistakes_only() -> None:
    assert "not among laws" in refused("list", "laws", "--operation", "softmax")


def test_every_mistake_has_a_page_with_all_that_is_known() -> None:
    for slug, mistake in catalogue().items():
        text = words("\n".join(line.plain for line in mistake_page(mistake)))
        known = [slug, mistake.sentence, mistake.formula, mistake.hidden_when, mistake.effect, *mistake.operations]
        known += [mistake.reason.replace("`", ""), *mistake.laws, *(LAWS[law].statement for law in mistake.laws)]
        known += mistake.regions
        known += [text for citation in mistake.citations for text in (citation.url, citation.title, citation.symptom)]
        known += [line for planted in mistake.planted for line in planted.changed_lines()]
        assert not [said for said in known if words(said) not in text], slug


def test_a_page_shows_what_was_right_before_what_is_wrong() -> None:
    text = shown("explain", "scale_missing")
    right = text.index("    - scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale\n")
    assert text.index("    + scale = 1.0 if scale is None else scale\n") > right
    assert "veriformer explain attention.scale" in text


@pytest.mark.parametrize("slug", ["scale_missing", "dropout_after_residual"])
def test_only_what_is_known_has_a_label(slug: str) -> None:
    text = shown("explain", slug)
    assert ("not planted" in text) is (not catalogue()[slug].planted)
    assert "effect " not in text


def test_a_law_names_the_mistakes_that_it_catches() -> None:
    text = shown("explain", "attention.scale")
    assert "scale_missing" in caught_by("attention.scale")
    assert f"catches {', '.join(caught_by('attention.scale'))}" in words(text)


def test_a_law_that_no_planted_mistake_breaks_names_none() -> None:
    law = next(law for law in LAWS if not caught_by(law))
    assert "catches" not in shown("explain", law)


def test_an_unknown_mistake_gets_a_suggestion() -> None:
    assert "did you mean scale_missing" in refused("explain", "scale_mising")
