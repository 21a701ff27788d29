"""`veriformer explain` with words instead of an id: the nearest mistakes, laws and operations."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from veriformer.cli import output
from veriformer.cli.application import application
from veriformer.cli.word_search import MOST_FOUND, found_by_words
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

WANTED = {
    "wrong softmax axis": "softmax_wrong_axis",
    "softmax along the wrong axis": "softmax_wrong_axis",
    "missing scale": "scale_missing",
    "forgot to scale the logits": "scale_missing",
    "mask transposed": "causal_mask_transposed",
    "off by one": "causal_diagonal_off_by_one",
    "layer norm variance n-1": "unbiased_variance",
    "dropout in eval": "dropout_active_in_eval",
    "merging heads without a transpose": "heads_merge_without_transpose",
    "future leak": "attention.causal.no_future_leak",
    "rotary embeddings turn in the wrong direction": "rope_sign_flipped",
}


@pytest.mark.parametrize("words", WANTED)
def test_words_find_what_they_mean(words: str) -> None:
    found = [one.name for one in found_by_words(words)]
    assert WANTED[words] in found[:3]
    assert len(found) <= MOST_FOUND


@pytest.mark.parametrize("words", ("zebra", "foo bar baz", "the of and", "how?", ""))
def test_what_nothing_has_to_do_with_finds_nothing(words: str) -> None:
    assert found_by_words(words) == []


def _run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(application, ["explain", *words])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("words", (("missing scale",), ("missing", "scale")))
def test_each_is_listed_with_its_id_and_a_sentence(words: tuple[str, ...]) -> None:
    status, text, _ = _run(*words)
    assert status == 0
    assert "scale_missing" in text.split()
    assert catalogue()["scale_missing"].sentence in text
    assert text.rstrip().endswith("veriformer explain scale_missing")


@pytest.mark.parametrize("identifier", (next(iter(LAWS)), next(iter(OPERATIONS)), "scale_missing", "scale=length"))
def test_an_id_has_its_own_page(identifier: str) -> None:
    status, text, _ = _run(identifier)
    assert status == 0
    assert text.splitlines()[0].startswith(identifier)
    assert "nearest" not in text


@pytest.mark.parametrize("misspelt", ("scale_mising", "attention.causal.no_futur_leak", "softmx", "scale=lenght"))
def test_a_misspelt_id_is_an_error_that_names_the_right_one_once(misspelt: str) -> None:
    status, text, error = _run(misspelt)
    assert (status, text) == (2, "")
    meant = error.partition("did you mean ")[2].partition("?")[0].split(" or ")
    assert meant[0]
    assert len(meant) == len(set(meant))


class _Terminal:
    def __init__(self, width: int) -> None:
        self.width = width


@pytest.mark.parametrize(("columns", "width"), ((80, 80), (120, 100)))
@pytest.mark.parametrize(
    "arguments",
    (("attention.causal.no_future_leak", "--proof"), ("unbiased_variance",), ("softmax",), ("wrong", "axis")),
)
def test_a_page_is_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int, arguments: tuple[str, ...]
) -> None:
    from veriformer.cli.explanations import _by_words, _pages

    monkeypatch.setattr(output, "standard_output", lambda: _Terminal(columns))
    monkeypatch.setattr(output.sys.stdout, "isatty", lambda: True, raising=False)
    words = " ".join(one for one in arguments if not one.startswith("--"))
    pages = _pages(words, proof="--proof" in arguments) or _by_words(words)
    lines = [line.plain for page in pages for line in page if " " in line.plain.strip()]
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > width - 12
