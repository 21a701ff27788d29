"""Pages of the documentation, opened in Chromium at two widths, light and dark, and its search."""

from __future__ import annotations

from itertools import product

import pytest
from looking import SCHEMES, WIDTHS, opened

PAGES = ("index", "models", "porting", "derivations/variance_scaling", "mistakes/scale_missing")


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
