"""How a command ends that was interrupted: with what was found until then, and exit status 130."""

from __future__ import annotations

from collections.abc import Iterator

import click
from veriformer.cli.failures import INTERRUPTED
from veriformer.cli.output import printing


def end_interrupted(*, without: str = "") -> int:
    """Print what was found of what has no report, then that the command was interrupted, and return the status.

    `without` says what was not done at all: "judged"; empty where there is a report.
    """
    lines = list(_found_so_far())
    if lines:
        with printing():
            for line in lines:
                click.echo(line)
    click.echo(f"Interrupted before anything was {without}" if without else "Interrupted", err=True)
    return INTERRUPTED


def _found_so_far() -> Iterator[str]:
    from veriformer.adapters.found_so_far import SO_FAR
    from veriformer.conformance_tests.core.text import plain

    for source, findings in SO_FAR.by_source.items():
        if not findings.sentences and not findings.doing:
            continue
        yield f"{plain(source)}, found before the interrupt:"
        for sentence in findings.sentences:
            yield f"  - {plain(sentence, 600)}"
        if findings.doing:
            yield f"  - interrupted while {plain(findings.doing, 600)}"
