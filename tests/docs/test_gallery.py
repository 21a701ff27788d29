"""The gallery: every exhibit is a mistake of the catalogue, and its picture shows one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.pictures.words import words


@pytest.fixture(scope="session")
def exhibits(builder: Any) -> Any:
    """Return what the gallery shows."""
    return import_module("pages.exhibits").EXHIBITS


def test_twelve_mistakes_are_shown_once_each_with_links(exhibits: Any, generated: dict[str, str]) -> None:
    page = generated["gallery.md"]
    assert len({one.slug for one in exhibits}) == len(exhibits) == 12
    assert page.count('<div class="vf-picture') == 12
    for one in exhibits:
        assert f"](mistakes/{one.slug}.md)" in page and f"](operations/{one.operation}.md)" in page
        assert catalogue()[one.slug].planted


def test_each_option_makes_the_mistake_and_the_result_differs(exhibits: Any) -> None:
    for one in exhibits:
        decision, option = one.change
        assert one.family.all_decisions[decision].option(option).slug == one.slug
        right, wrong = one.results()
        assert right.shape == wrong.shape
        assert np.isfinite(right).all()
        assert not np.array_equal(right, wrong)


def test_each_picture_has_words(exhibits: Any) -> None:
    assert all(words(one.draw(one)).strip() for one in exhibits)


def test_the_numbers_in_the_sentences_are_those_of_the_pictures(exhibits: Any) -> None:
    results = {one.slug: one.results() for one in exhibits}
    right, wrong = results["softmax_wrong_axis"]
    assert np.allclose(right.sum(-1), 1) and np.allclose(wrong.sum(-2), 1)
    right, wrong = results["unbiased_variance"]
    assert np.allclose(wrong / np.where(right, right, 1), np.where(right, np.sqrt(3 / 4), 0), atol=1e-5)
    right, wrong = results["gelu_tanh_vs_erf"]
    assert 0.0004 < np.abs(wrong - right).max() < 0.0005
    right, wrong = results["layernorm_eps_outside_sqrt"]
    assert 100 < np.abs(wrong / right).max() < 320
    right, _ = results["heads_merge_without_transpose"]
    assert np.allclose(right[0, 1], [2.0, 2.1, 2.2, 2.3])
