"""What a person sees of a result: its text, its page in a notebook, and one line at a prompt."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The reports import the results, so that no result can import them: they are found by name when somebody looks.
_REPORTS = "veriformer.conformance_tests.reports.presenting"


class Presented:
    """A result that can be looked at. A subclass says in `headline` what was found, in one line."""

    @property
    def headline(self) -> str:
        """What was found, in one line."""
        raise NotImplementedError

    def text(self, width: int = 100) -> str:
        """Return what a terminal shows of it, in lines of at most `width` columns where that is possible."""
        return str(_reports().text(self, width))

    def __str__(self) -> str:
        """Return what a terminal shows, which `print` shows too."""
        return self.text()

    def _repr_html_(self) -> str:
        return str(_reports().html(self))


def _reports() -> Any:
    return import_module(_REPORTS)
