"""Reading a report that was written before, as JSON or as a page of HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.changes.recorded import Kind, Recorded, recorded
from veriformer.conformance_tests.reports.html.data import ELEMENT
from veriformer.conformance_tests.reports.json_report import SCHEMA

_LARGEST = 200_000_000
_KINDS: tuple[Kind, ...] = ("check", "compare", "identify")
_REMEDY = "name a file that --report or --json wrote"


class UnreadableReport(Exception):
    """A file is no report that this version can read."""


def read_report(path: Path) -> Recorded:
    """Return what a report says; UnreadableReport where the file is none, or of another schema."""
    objects, kind = read_objects(path)
    try:
        return recorded(objects, kind)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableReport(f"{path} is no complete report ({plain(repr(error))}); {_REMEDY}") from error


def read_objects(path: Path) -> tuple[list[dict[str, Any]], Kind | None]:
    """Return the object of each implementation, and the kind of a page; UnreadableReport as `read_report`."""
    text = _text(path)
    written = text if text.lstrip().startswith("{") else _inside(path, text)
    document = _document(path, written)
    if document.get("schema") != SCHEMA:
        schema = plain(document.get("schema", "none"))
        raise UnreadableReport(f"{path} has schema {schema}, and this version reads {SCHEMA}; write the report anew")
    kind = document.get("kind")
    if kind is not None and kind not in _KINDS:
        raise UnreadableReport(f"{path} is a page about changes, not a report; {_REMEDY}")
    return document.get("reports", [document]), kind


def _text(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise UnreadableReport(f"{path} is larger than any report; {_REMEDY}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableReport(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableReport(f"{path} is no report: it is not a text in UTF-8; {_REMEDY}") from error


def _document(path: Path, written: str) -> dict[str, Any]:
    try:
        document = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(f"{path} is no report: its data is no JSON ({plain(error)}); {_REMEDY}") from error
    if not isinstance(document, dict):
        raise UnreadableReport(f"{path} is no report: its data is no object; {_REMEDY}")
    return document


def _inside(path: Path, text: str) -> str:
    """Return the data inside of a page."""
    page = _Page()
    page.feed(text)
    if not page.data:
        raise UnreadableReport(f"{path} is no report: it is no JSON, and no page with the element {ELEMENT}; {_REMEDY}")
    return "".join(page.data)


class _Page(HTMLParser):
    """Keeps what stands in the first element of the data."""

    def __init__(self) -> None:
        super().__init__()
        self.data: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look for the element."""
        self._inside = tag == "script" and dict(attrs).get("id") == ELEMENT and not self.data

    def handle_endtag(self, tag: str) -> None:
        """Leave the element."""
        self._inside = False

    def handle_data(self, data: str) -> None:
        """Keep what is in it."""
        if self._inside:
            self.data.append(data)
