"""The picture of README.md shows what the command in it prints, and asks nobody for a font."""

from __future__ import annotations

import re
import sys
from html import unescape
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield import_module("draw_failure")
    sys.modules.pop("draw_failure", None)


def test_picture_is_current(drawing):
    lines = drawing.report()
    assert any("causal_diagonal_off_by_one" in line.plain for line in lines)
    current = drawing.picture(lines)
    assert drawing.PICTURE.read_text("utf-8") == current, "python docs/draw_failure.py"


def test_picture_has_words_and_loads_nothing(drawing):
    text = drawing.PICTURE.read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text
    assert "@font-face" not in text
    assert not re.findall(r"(?:href|src)=|url\((?!#)", text)
    shown = unescape("".join(root.itertext())).replace("\xa0", " ")
    assert "veriformer check docs/examples/my_attention.py" in shown
