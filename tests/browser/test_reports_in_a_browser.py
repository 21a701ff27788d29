"""Reports of every kind, opened in Chromium at two widths, light and dark."""

from __future__ import annotations

import shutil
from itertools import product

import pytest
from looking import SCHEMES, WIDTHS, opened

PROGRAMS = "tests/browser/programs"
_QUICK = ("--tier", "quick")
COMMANDS = {
    "right": ("check", f"{PROGRAMS}/right.py", *_QUICK),
    "one_mistake": ("check", "docs/examples/my_attention.py"),
    "two_mistakes": ("check", f"{PROGRAMS}/two_mistakes.py", *_QUICK),
    "crash": ("check", f"{PROGRAMS}/crash.py", *_QUICK),
    "unreadable": ("check", f"{PROGRAMS}/unreadable.py", *_QUICK),
    "model": ("check", "docs/examples/my_gpt.py:GPT"),
    "port": ("compare", "docs/examples/port/hf_llama.py:build", "docs/examples/port/my_llama.py:build"),
    "comparison": ("compare", "numpy", "docs/examples/my_attention.py", "--operation", "scaled_dot_product_attention"),
    "identification": ("identify", f"{PROGRAMS}/two_mistakes.py"),
}
VIEWS = list(product(WIDTHS, SCHEMES))
_LARGEST = 400_000


@pytest.fixture(scope="module")
def twenty(tmp_path_factory) -> tuple[str, ...]:
    """Return a command over twenty implementations, half of them with a mistake."""
    folder = tmp_path_factory.mktemp("twenty")
    names = [folder / f"attention_{number:02d}.py" for number in range(20)]
    for number, name in enumerate(names):
        shutil.copyfile(f"{PROGRAMS}/{'two_mistakes' if number % 2 else 'right'}.py", name)
    return ("check", *map(str, names), *_QUICK)


@pytest.mark.parametrize("name", COMMANDS)
def test_report_in_every_view(chromium, axe, report_page, screenshots, name):
    path = report_page(name, *COMMANDS[name])
    assert path.stat().st_size < _LARGEST
    for width, scheme in VIEWS:
        _is_well(chromium, axe, path, screenshots, name, width, scheme)


def test_report_on_twenty_implementations(chromium, axe, report_page, screenshots, twenty):
    path = report_page("twenty", *twenty)
    for width, scheme in VIEWS:
        _is_well(chromium, axe, path, screenshots, "twenty", width, scheme)


@pytest.mark.parametrize("name", ["one_mistake", "model", "port"])
def test_report_is_read_without_scripts(chromium, report_page, name):
    path = report_page(name, *COMMANDS[name])
    with opened(chromium, path, script=False) as found:
        text = found.page.locator("main").inner_text()
    with opened(chromium, path) as found:
        assert found.page.locator("main").inner_text().split()[:60] == text.split()[:60]


def _is_well(chromium, axe, path, screenshots, name, width, scheme):
    with opened(chromium, path, width=width, scheme=scheme) as found:
        found.page.screenshot(path=screenshots / f"{name}-{width}-{scheme}.png", full_page=True)
        assert not found.console
        assert not found.foreign
        assert not found.overflow
        assert not found.wordless
        assert not found.inaccessible(axe)
