"""What was found until now, for a run that is interrupted before there is a report."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol
from weakref import WeakSet

_MOST = 200
_LONGEST = 2**16


class Noting(Protocol):
    """A process that notes what it finds."""

    def read_notes(self) -> None:
        """Take over what was noted since the last time."""


@dataclass
class Findings:
    """What was found about one source, in sentences, and what is being done: "finding out what attention is"."""

    sentences: list[str] = field(default_factory=list)
    doing: str = ""


class FoundSoFar:
    """The findings of this process about each source; those of a worker are written where the suite reads them."""

    def __init__(self) -> None:
        self._findings: dict[str, Findings] = {}
        self._source = ""
        self._end: int | None = None
        self._processes: WeakSet[Noting] = WeakSet()

    @property
    def by_source(self) -> Mapping[str, Findings]:
        """The findings about each source that was begun and not forgotten."""
        for process in list(self._processes):
            process.read_notes()
        return MappingProxyType(self._findings)

    def write_to(self, end: int) -> None:
        """Write what is noted from now on to an open file too."""
        self._end = end

    def listen_to(self, process: Noting) -> None:
        """Ask another process for what it has found, as long as there is one."""
        self._processes.add(process)

    def begin(self, source: str) -> None:
        """Forget what was found about a source; what follows is about it."""
        self._source = source
        self._note("begin", "")

    def found(self, sentence: str) -> None:
        """Note what was found about the source that was begun last."""
        self._note("found", sentence)

    def doing(self, what: str) -> None:
        """Note what is done now, until something is found, or something else is done."""
        self._note("doing", what)

    def forget(self, source: str) -> None:
        """Forget what was found about a source, of which there is a report now."""
        self._findings.pop(source, None)

    def take_over(self, written: bytes) -> None:
        """Take over what another process has written; lines that are none of its are left out."""
        for line in written[:_LONGEST].splitlines():
            try:
                note = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(note, list) and len(note) == 3 and all(isinstance(part, str) for part in note):
                self._take(*note)

    def _note(self, kind: str, sentence: str) -> None:
        if self._end is not None:
            # What runs here may have closed it.
            with contextlib.suppress(OSError):
                os.write(self._end, f"{json.dumps([self._source, kind, sentence])}\n".encode())
        self._take(self._source, kind, sentence)

    def _take(self, source: str, kind: str, sentence: str) -> None:
        if kind == "begin":
            self._findings[source] = Findings()
            return
        findings = self._findings.setdefault(source, Findings())
        findings.doing = sentence if kind == "doing" else ""
        if kind == "found" and sentence not in findings.sentences and len(findings.sentences) < _MOST:
            findings.sentences.append(sentence)


SO_FAR = FoundSoFar()
"""The findings of this process."""
