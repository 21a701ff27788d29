"""What was found so far is kept by source, taken over from a worker, and forgotten where there is a report."""

from __future__ import annotations

import tempfile
import weakref

from veriformer.adapters.found_so_far import Findings, FoundSoFar


def test_what_is_done_is_told_until_something_is_found() -> None:
    so_far = FoundSoFar()
    so_far.begin("a.py")
    so_far.doing("importing it")
    assert so_far.by_source == {"a.py": Findings([], "importing it")}
    so_far.found("f is one")
    so_far.found("f is one")
    assert so_far.by_source == {"a.py": Findings(["f is one"], "")}
    so_far.begin("a.py")
    assert so_far.by_source == {"a.py": Findings()}
    so_far.forget("a.py")
    assert not so_far.by_source


class _Process:
    """A process that has written into a file."""

    def __init__(self, here: FoundSoFar, written: bytes) -> None:
        self._here, self._written = weakref.proxy(here), written

    def read_notes(self) -> None:
        written, self._written = self._written, b""
        self._here.take_over(written)


def test_another_process_is_asked_for_what_it_wrote() -> None:
    here, there = FoundSoFar(), FoundSoFar()
    with tempfile.TemporaryFile() as file:
        there.write_to(file.fileno())
        there.begin("a.py")
        there.found("f is one")
        there.doing("finding out what g is")
        file.seek(0)
        process = _Process(here, file.read())
    # Nothing that closed its end breaks what runs there.
    there.found("f is another")
    here.listen_to(process)
    assert here.by_source == {"a.py": Findings(["f is one"], "finding out what g is")}


def test_what_is_no_note_is_left_out() -> None:
    here = FoundSoFar()
    here.take_over(b'no json\n[1, 2]\n["a", "found", 3]\n{"a": 1}\n\xff\n["a.py", "found", "f is one"]\n["a.py", "fou')
    assert here.by_source == {"a.py": Findings(["f is one"], "")}
