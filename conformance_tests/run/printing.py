"""Output that an implementation prints while it is called: kept out of the report, and noted in a sentence."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.private_names import with_own_names
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.run.ordering import most_revealing_first

_LONGEST_OUTPUT = 10_000
_LONGEST_LINE = 60
# Python puts the file and line before the class of a warning.
_PLACE_OF_WARNING = re.compile(r"^\S+:\d+: (?=\w+Warning: )")


@contextmanager
def captured(implementation: Implementation) -> Iterator[io.StringIO]:
    """Capture and yield what the implementation prints, here or in its own process."""
    stream = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        yield stream
    stream.write(implementation.printed())


def first_line(written: str) -> str:
    """Return the beginning of the first line of the output, of a warning what it says; empty if there is none."""
    text = with_own_names(written[:_LONGEST_OUTPUT]).strip()
    return _PLACE_OF_WARNING.sub("", text.splitlines()[0])[:_LONGEST_LINE] if text else ""


def printed_sentences(results: Iterable[LawResult]) -> list[str]:
    """Return a sentence for each operation that printed, with its first output in the order of the laws."""
    by_law = {result.law.id: result for result in results}
    first: dict[str, str] = {}
    for law in most_revealing_first(laws()[identifier] for identifier in by_law):
        if printed := by_law[law.id].printed:
            first.setdefault(law.statement.operation.name, printed)
    return [f"{name} printed while it was called, beginning with {printed!r}" for name, printed in first.items()]
