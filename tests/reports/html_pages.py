"""Reading a page of HTML in tests: its elements, its text, its data, and what a page must be."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "br", "img", "input", "link", "hr", "path", "line", "rect", "circle"}
LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "xlink:href", "ping", "manifest"}


class Parsed(HTMLParser):
    """A page as lists of its elements; AssertionError where an element is not closed where it should be.

    A formula is one element, and is read in Unicode, as a part of the text before it.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._open: list[str] = []
        self._follows_a_formula = False
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "math" not in self._open:
            self.elements.append((tag, dict(attrs)))
        if tag == "math" and (formula := dict(attrs).get("alttext")):
            self._read(formula)
            self._follows_a_formula = True
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif "math" not in self._open and (not self._open or self._open[-1] != "style"):
            follows, self._follows_a_formula = self._follows_a_formula, False
            self._read(data) if follows else self.texts.append(data)

    def _read(self, more: str) -> None:
        self.texts[-1:] = ["".join((*self.texts[-1:], more))]

    @property
    def text(self) -> str:
        """All that a reader sees, with one space between words."""
        return " ".join(" ".join(self.texts).split())

    @property
    def structure(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements, formulas aside, with the names of their attributes: what no text may change."""
        return [
            (tag, tuple(sorted(attributes)))
            for tag, attributes in self.elements
            if {"alttext", "xmlns"} - {*attributes} or tag != "math"
        ]

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute, of all elements that have it."""
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]

    @property
    def data(self) -> dict[str, Any]:
        """The data inside of the page, in strict JSON."""

        def refused(constant: str) -> None:
            raise AssertionError(constant)

        (text,) = [text for attributes, text in self.scripts if attributes.get("id") == "veriformer-data"]
        return dict(json.loads(text, parse_constant=refused))

    @property
    def headings(self) -> list[int]:
        """The levels of the headings, in their order."""
        return [int(tag[1]) for tag, _ in self.elements if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]


def is_in_order(page: str) -> bool:
    """Return whether a page is sound, as AssertionErrors say: closed, in order, addressable, and alone in the world."""
    parsed = Parsed(page)
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    assert parsed.headings[0] == 1
    assert parsed.headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in zip(parsed.headings, parsed.headings[1:], strict=False))
    inner = [address[1:] for address in parsed.values("href") if address.startswith("#")]
    assert [address for address in inner if address and address not in ids] == []
    assert [tag for tag, attributes in parsed.elements if LOADING & {*attributes}] == []
    for tag, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert tag not in {"link", "iframe", "object", "embed", "base", "form", "img", "audio", "video", "source"}
        address = attributes.get("href") or "#"
        assert address.startswith("#") or (tag == "a" and address.startswith("https://github.com/"))
        assert address.startswith("#") or attributes.get("rel") == "noreferrer"
    styles = page.partition("<style>")[2].partition("</style>")[0]
    # The font of formulas is inside the page; nothing else has an address, and this one is no place to load from.
    addresses = re.findall(r"url\(.{0,30}", styles)
    assert len(addresses) <= 1
    assert all(address.startswith('url("data:font/woff2;base64,') for address in addresses)
    assert "@import" not in styles
    kinds = [tag for tag, _ in parsed.elements]
    assert kinds.count("main") == kinds.count("h1") == 1
    assert kinds.index("title") < kinds.index("body")
    return True
