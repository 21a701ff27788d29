"""What is wrong with a page is seen: each fault of a bad page is found, and none in a good one."""

from __future__ import annotations

import pytest
from looking import opened

_GOOD = '<!doctype html><html lang="en"><title>Good</title><body><main><h1>Good</h1>{}</main></body></html>'


@pytest.fixture
def page(tmp_path):
    """Return a function that writes a page with something in it."""

    def written(inside: str):
        path = tmp_path / "page.html"
        path.write_text(_GOOD.format(inside), "utf-8")
        return path

    return written


def test_good_page_has_no_fault(chromium, axe, page):
    with opened(chromium, page('<svg role="img" width="9" height="9"><title>A dot</title></svg>')) as found:
        assert not (found.console or found.foreign or found.overflow or found.wordless or found.inaccessible(axe))


@pytest.mark.parametrize(
    ("inside", "attribute", "said"),
    [
        ('<img alt="x" src="http://example.invalid/x.png">', "foreign", "http://example.invalid/x.png"),
        ('<script>console.error("a fault")</script>', "console", "a fault"),
        ("<script>throw new Error('a fault')</script>", "console", "a fault"),
        ('<div style="width: 3000px">wide</div>', "overflow", "wide"),
        ('<svg width="9" height="9"></svg>', "wordless", "svg"),
    ],
)
def test_fault_is_seen(chromium, page, inside, attribute, said):
    with opened(chromium, page(inside)) as found:
        assert any(said in one for one in getattr(found, attribute))


def test_faint_text_is_inaccessible(chromium, axe, page):
    with opened(chromium, page('<p style="color: #ccc; background: #fff">faint</p>')) as found:
        assert any(one.startswith("color-contrast") for one in found.inaccessible(axe))


def test_colour_scheme_is_that_of_the_reader(chromium, page):
    style = "<style>@media (prefers-color-scheme: dark) { main { width: 123px } }</style>"
    with opened(chromium, page(style), scheme="dark") as found:
        assert found.page.locator("main").bounding_box()["width"] == 123
