"""How a command ends without an answer: with one sentence on stderr and exit status 2."""

from __future__ import annotations

import io
import sys
from functools import cache

import click

COULD_NOT_RUN = 2
# The statuses by which a shell reports the signals; neither says anything about a law.
INTERRUPTED = 130
NOBODY_READS = 141


class UserError(click.ClickException):
    """Something the user can put right; `cause` is what --traceback shows."""

    exit_code = COULD_NOT_RUN

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class OutputLost(UserError):
    """The output could not be written."""


def show_user_error(error: click.ClickException, *, with_traceback: bool) -> None:
    """Print the sentence, preceded by the cause's traceback if requested."""
    cause = getattr(error, "cause", None)
    if with_traceback and cause is not None:
        print_traceback(cause)
    shown = io.StringIO()
    error.show(shown)
    _print(shown.getvalue())
    # A name may be unknown because the package that has it is broken.
    if "veriformer.spec.extensions" in sys.modules:
        show_broken_packages()


@cache
def show_broken_packages() -> None:
    """Print, once, a sentence for each installed package whose operations cannot be had."""
    from veriformer.spec.extensions import installed

    for problem in installed().problems:
        _print(f"Note: {problem}\n")


def show_internal_error(error: BaseException, *, with_traceback: bool) -> None:
    """Print that Veriformer itself failed; a defect of ours must never look like a violation."""
    if with_traceback:
        print_traceback(error)
    kind = type(error).__name__
    hint = "" if with_traceback else "; --traceback shows where"
    _print(
        f"Internal error: {kind}: {error}\n"
        f"This is a defect of Veriformer and says nothing about the implementation{hint}. Please report it.\n"
    )


def print_traceback(error: BaseException) -> None:
    """Print where an error came from."""
    from veriformer.adapters.errors import formatted_traceback

    _print(formatted_traceback(error))


def _print(text: str) -> None:
    """Print text with escape sequences made visible: names and messages come from others."""
    from veriformer.conformance_tests.core.text import printable

    click.echo(printable(text), err=True, nl=False)
