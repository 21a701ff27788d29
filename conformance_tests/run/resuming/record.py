"""The file to which a run appends each result, and from which the same run continues.

The first line identifies the run. A program that is killed leaves at most one incomplete line, the last, which is
ignored. A file of another run, or of another program, is refused and never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.fingerprint import fingerprint
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.run.atomic import write_text
from veriformer.conformance_tests.run.resuming.lines import (
    BrokenLine,
    findings_line,
    findings_of,
    read,
    result_line,
    result_of,
    written,
)

FORMAT = 1


class UnusableRecord(ValueError):
    """The file cannot be read or written, is not a record, or belongs to another run."""


@dataclass
class Record:
    """The results and findings of one implementation; they are kept only with a file."""

    results: dict[str, LawResult] = field(default_factory=dict)
    findings: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    file: RecordFile | None = None
    name: str = ""

    def add(self, result: LawResult, findings: tuple[Finding, ...]) -> None:
        """Keep a result, after the findings about its operation; UnusableRecord where the file cannot be written.

        A law that was not tried has no line, so that a resumed run tries it.
        """
        if self.file is None or result.status == "not_tried":
            return
        operation = result.law.operation.name
        # A law that is not declared leaves its operation unexamined.
        if findings and operation not in self.findings:
            self.findings[operation] = findings
            self.file.append(findings_line(self.name, operation, findings))
        self.file.append(result_line(self.name, result))


class RecordFile:
    """The file, opened for one selection and the implementations that are checked one after the other."""

    def __init__(self, path: Path, selection: Selection, implementations: Sequence[str]) -> None:
        self.path = path
        self._records: dict[str, Record] = {}
        self._fingerprints: dict[str, str] = {}
        heading = _heading(selection, implementations)
        try:
            self._read(heading)
        except OSError as error:
            raise self._cannot("open", error) from error

    def of(self, implementation: Implementation) -> Record:
        """Return the record of an implementation; UnusableRecord if its files or versions have changed."""
        name, now = implementation.name, fingerprint(implementation)
        before = self._fingerprints.get(name)
        if before is None:
            self.append({"implementation": name, "fingerprint": now})
        elif before != now:
            raise UnusableRecord(
                f"{self.path} was written for another version of {name} ({before}, now {now}); name another file, or "
                "delete this one to start again"
            )
        return self._record(name)

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line at the end; UnusableRecord where that is impossible."""
        try:
            # Without a buffer, so that the line is not lost if the program is killed.
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                _write_all(descriptor, written(line))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._cannot("write", error) from error

    def _read(self, heading: dict[str, Any]) -> None:
        text = self.path.read_bytes() if self.path.exists() else b""
        if not text:
            write_text(self.path, written(heading).decode("ascii"))
            return
        *lines, rest = text.split(b"\n")
        self._compare(lines[0] if lines else rest, heading)
        for number, line in enumerate(lines[1:], 2):
            try:
                self._take(read(line))
            except BrokenLine as error:
                raise UnusableRecord(
                    f"{self.path}, line {number} was not written by a run of this program: {error}; name another file, "
                    "or delete this one to start again"
                ) from error
        if rest:
            os.truncate(self.path, len(text) - len(rest))

    def _compare(self, first: bytes, heading: dict[str, Any]) -> None:
        try:
            found = read(first)
        except BrokenLine:
            found = {}
        if "veriformer_record" not in found:
            raise UnusableRecord(
                f"{self.path} is not the record of a run, and is left as it is; name a file that does not exist yet"
            )
        for name, wanted in heading.items():
            if found.get(name) != wanted:
                raise UnusableRecord(
                    f"{self.path} is the record of another run ({_named(name)}: {_shown(found.get(name))}, now: "
                    f"{_shown(wanted)}); name another file, or delete this one to start again"
                )

    def _take(self, line: dict[str, Any]) -> None:
        name = line.get("implementation")
        if not isinstance(name, str):
            raise BrokenLine("it names no implementation")
        if "fingerprint" in line:
            self._fingerprints[name] = str(line["fingerprint"])
        elif "operation" in line:
            operation, findings = findings_of(line)
            self._record(name).findings[operation] = findings
        elif (result := result_of(line)) is not None:
            self._record(name).results[result.law.id] = result

    def _record(self, name: str) -> Record:
        return self._records.setdefault(name, Record(file=self, name=name))

    def _cannot(self, what: str, error: OSError) -> UnusableRecord:
        return UnusableRecord(f"cannot {what} {self.path}, the record of the run: {error.strerror or error}")


def record_of(resume: Path | str | RecordFile, implementation: Implementation, selection: Selection) -> Record:
    """Return the record of an implementation in a file; UnusableRecord if it belongs to another run."""
    if not isinstance(resume, RecordFile):
        resume = RecordFile(Path(resume), selection, (implementation.name,))
    return resume.of(implementation)


def _heading(selection: Selection, implementations: Sequence[str]) -> dict[str, Any]:
    """Return the first line, as JSON reads it back."""
    return {
        "veriformer_record": FORMAT,
        "implementations": list(implementations),
        "operations": _listed(selection.operations),
        "laws": _listed(selection.laws),
        "dtypes": _listed(selection.dtypes),
        "tier": selection.effort,
        "seed": selection.seed,
    }


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _named(entry: str) -> str:
    return "format" if entry == "veriformer_record" else entry


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "not restricted" if value is None else str(value)


def _write_all(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]
