"""Pages of the documentation, opened in Chromium at two widths, light and dark, and its search."""

from __future__ import annotations

from itertools import product

import pytest
from looking import SCHEMES, WIDTHS, opened

PAGES = (
    "index",
    "gallery",
    "models",
    "porting",
    "derivations/variance_scaling",
    "mistakes/scale_missing",
    "operations/scaled_dot_product_attention",
    "search",
)


@pytest.mark.parametrize("name", PAGES)
def test_page_in_every_view(chromium, axe, documentation, screenshots, name):
    path = documentation / f"{name}.html"
    for width, scheme in product(WIDTHS, SCHEMES):
        with opened(chromium, path, width=width, scheme=scheme) as found:
            found.page.screenshot(path=screenshots / f"{path.stem}-{width}-{scheme}.png", full_page=True)
            assert not found.console
            assert not found.foreign
            assert not found.overflow
            assert not found.wordless
            assert not found.inaccessible(axe)


def test_search_needs_no_server(chromium, documentation):
    with opened(chromium, documentation / "search.html", fragment="?q=saturation") as found:
        results = found.page.locator("#search-results li a")
        results.first.wait_for(timeout=20_000)
        assert results.count() >= 1
        assert not found.foreign


def test_exact_title_comes_first_with_the_words_around_it(chromium, documentation):
    for asked, title in (("causal mask", "causal_mask"), ("scale_missing", "scale_missing")):
        with opened(chromium, documentation / "search.html", fragment=f"?q={asked.replace(' ', '+')}") as found:
            first = found.page.locator("#search-results li").first
            first.wait_for(timeout=20_000)
            assert first.locator("a").inner_text() == title
            assert first.locator("p").inner_text().strip()
            assert first.locator("mark").count()


def test_formulas_are_set_in_the_font_of_the_site(chromium, documentation):
    with opened(chromium, documentation / "derivations/softmax.html") as found:
        found.page.evaluate("document.fonts.ready")
        assert found.page.evaluate("document.fonts.check('16px \"Veriformer Mathematics\"', '∑')")
        assert "Veriformer Mathematics" in found.page.evaluate(
            "getComputedStyle(document.querySelector('math')).fontFamily"
        )
        # A sum on a line of its own is larger than its letters, which takes a font of mathematics.
        sign = "document.querySelector('.formula munderover mo')"
        assert found.page.evaluate(f"{sign}.getBoundingClientRect().height") > 22


@pytest.mark.parametrize("name", ["gallery", "operations/scaled_dot_product_attention", "mistakes/softmax_wrong_axis"])
def test_no_code_and_no_table_is_cut(chromium, documentation, name):
    with opened(chromium, documentation / f"{name}.html") as found:
        shown = (
            "[...document.querySelectorAll('article .highlight-text pre, article .table-wrapper, article .vf-scroll')]"
        )
        cut = f"{shown}.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML.slice(0, 200))"
        assert found.page.evaluate(cut) == []
