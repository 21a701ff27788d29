"""The traceback of an exception: whole, or as much of it as is about the user's own code."""

from __future__ import annotations

import re

from veriformer.conformance_tests.core.text import plain_lines

_FRAME = re.compile(r'^  File "(?P<path>[^"]*)", line \d+.*\n(?:    .*(?:\n|\Z))*', re.MULTILINE)
_OURS = re.compile(
    r"[/\\]veriformer[/\\](conformance_tests[/\\].*|adapters[/\\](calling|results|arrays_taken|isolation[/\\]\w+|\w+_arrays))\.py$"
)
_INSTALLED = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python\d[^/\\]*)[/\\]|^<frozen ")
_MOST_LINES = 30
_MOST_LINES_OF_THE_USER = 12


def traceback_lines(traceback: str, *, whole: bool) -> list[str]:
    """Return a traceback without the suite's own frames; unless `whole`, without those of packages too, and shorter.

    Nothing is left of the traceback of an exception that the suite itself raised about a result.
    """
    called = _without(_OURS, traceback)
    if not _FRAME.search(called):
        return []
    if whole:
        return plain_lines(called, _MOST_LINES)
    own = _without(_INSTALLED, called)
    # Where all of the code is in an installed package, that is what is checked.
    shown = own if _FRAME.search(own) else called
    lines = plain_lines(shown, _MOST_LINES_OF_THE_USER)
    return lines if len(lines) <= _MOST_LINES_OF_THE_USER else plain_lines(shown, _MOST_LINES_OF_THE_USER - 1)


def _without(places: re.Pattern[str], traceback: str) -> str:
    return _FRAME.sub(lambda frame: "" if places.search(frame["path"]) else frame[0], traceback)
