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


class Judged(Presented):
    """A result with a verdict. It is true where nothing was found wrong and all was judged: `assert check(f)`."""

    @property
    def exit_status(self) -> int:
        """0 where nothing is wrong; what else a command ends with is the subclass's."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return self.exit_status == 0


def _reports() -> Any:
    return import_module(_REPORTS)
