"""The options that write results for other programs, and what GitHub is shown where a workflow runs a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from veriformer.cli.failures import UserError
from veriformer.cli.options import Decorator, file_option, writing

if TYPE_CHECKING:
    from veriformer.conformance_tests.reports.exports.outcome import Outcome

_OPTIONS = {
    "junit": file_option("--junit", meaning="Write JUnit's XML too, a test for each law."),
    "sarif": file_option("--sarif", meaning="Write SARIF too, for code scanning and editors."),
    "markdown": file_option("--markdown", meaning="Write a comment for a pull request too."),
}


@dataclass(frozen=True)
class Exports:
    """The files that a command is to write for other programs."""

    junit: Path | None = None
    sarif: Path | None = None
    markdown: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files that were asked for, by option."""
        return {f"--{name}": path for name, path in vars(self).items() if path is not None}

    @property
    def wanted(self) -> bool:
        """Whether anything is written, or shown on GitHub."""
        return bool(self.files) or _on_github()

    def write(self, outcomes: Sequence[Outcome]) -> None:
        """Write the files that were asked for; UserError where one cannot be written."""
        for name, path in self.files.items():
            with writing(path):
                _write(path, _text(name, outcomes))

    @contextmanager
    def written_without_result(self, sources: Sequence[str]) -> Iterator[None]:
        """Write that nothing could be run where a UserError is raised, which passes."""
        try:
            yield
        except UserError as error:
            if self.wanted:
                from veriformer.conformance_tests.reports.exports.checks import could_not_run

                outcome = [could_not_run(" and ".join(sources), error)]
                self.write(outcome)
                self.show_on_github(outcome)
            raise

    @contextmanager
    def without_commands(self) -> Iterator[None]:
        """Keep GitHub from taking a line of a message, which others wrote, for a command to the workflow."""
        if not _on_github():
            yield
            return
        import secrets

        word = secrets.token_hex(16)
        click.echo(f"::stop-commands::{word}")
        try:
            yield
        finally:
            click.echo(f"::{word}::")

    def show_on_github(self, outcomes: Sequence[Outcome]) -> None:
        """Print annotations and extend the summary of the step, if a workflow of GitHub runs the command."""
        if not _on_github():
            return
        from veriformer.conformance_tests.reports.exports.annotations import annotation_lines

        for line in annotation_lines(outcomes):
            click.echo(line)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            _extend(Path(summary), _text("--markdown", outcomes))


def export_options(*names: str) -> Decorator:
    """Return what adds options to a command, which gets their files as `exports`."""

    def added(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_exports(**given: Any) -> Any:
            return command(exports=Exports(**{name: given.pop(name) for name in names}), **given)

        decorated: Callable[..., Any] = with_exports
        for name in reversed(names):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return added


def _on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _text(option: str, outcomes: Sequence[Outcome]) -> str:
    if option == "--junit":
        from veriformer.conformance_tests.reports.exports.junit import junit

        return junit(outcomes)
    if option == "--sarif":
        from veriformer.conformance_tests.reports.exports.sarif import sarif

        return sarif(outcomes)
    from veriformer.conformance_tests.reports.exports.markdown import markdown

    return markdown(outcomes)


def _write(path: Path, text: str) -> None:
    from veriformer.conformance_tests.run.atomic import write_text

    write_text(path, text)


def _extend(path: Path, text: str) -> None:
    """Add to the summary of the step; the outcome of a run does not depend on whether that works."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        click.echo(f"Note: the summary of the step could not be written: {error.strerror or error}", err=True)
