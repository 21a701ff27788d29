"""The program: its commands, and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click
from veriformer.cli.capture import capture_command
from veriformer.cli.check import check_command
from veriformer.cli.compare import compare_command
from veriformer.cli.derivations import derive_command
from veriformer.cli.documentation import docs_command
from veriformer.cli.explanations import explain_command
from veriformer.cli.failures import (
    COULD_NOT_RUN,
    NOBODY_READS,
    OutputLost,
    UserError,
    show_internal_error,
    show_user_error,
)
from veriformer.cli.identify import identify_command
from veriformer.cli.interrupted import end_interrupted
from veriformer.cli.learn import learn_command
from veriformer.cli.listings import list_command
from veriformer.cli.output import printing
from veriformer.cli.reports import report_group

# What a command that was interrupted early has not done.
_NOTHING_WAS = {"check": "judged", "identify": "judged", "compare": "compared", "capture": "recorded"}


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"veriformer {version('veriformer')}")
    except PackageNotFoundError:
        click.echo("veriformer (a checkout that is not installed)")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def application() -> None:
    """Check implementations of the Transformer against its laws.

    Begin with: veriformer check numpy, or veriformer check my_attention.py
    """


application.add_command(check_command)
application.add_command(identify_command)
application.add_command(compare_command)
application.add_command(capture_command)
application.add_command(list_command)
application.add_command(explain_command)
application.add_command(derive_command)
application.add_command(report_group)
application.add_command(docs_command)
application.add_command(learn_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 all well, 1 a law or derivation does not hold, 2 it could not run."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A console that cannot show √ shows a question mark; it does not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(_run(given, with_traceback="--traceback" in given))


def _open_closed_streams() -> None:
    """Put the null device in place of a standard stream that the caller closed.

    Otherwise the next file that is opened, perhaps a pipe to a worker, would be taken for that stream.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def _run(arguments: list[str], *, with_traceback: bool) -> int:
    try:
        _refuse_unspeakable(arguments)
        status = application.main(arguments, prog_name="veriformer", standalone_mode=False, obj=arguments)
        with printing():
            sys.stdout.flush()
    except OutputLost as error:
        _close_pipe()
        show_user_error(error, with_traceback=with_traceback)
        return COULD_NOT_RUN
    except click.ClickException as error:
        show_user_error(error, with_traceback=with_traceback)
        return COULD_NOT_RUN
    except (click.Abort, KeyboardInterrupt):
        return end_interrupted(without=_NOTHING_WAS.get(next(iter(arguments), ""), ""))
    except BrokenPipeError:
        _close_pipe()
        return NOBODY_READS
    except Exception as error:
        show_internal_error(error, with_traceback=with_traceback)
        return COULD_NOT_RUN
    return status if isinstance(status, int) else 0


def _refuse_unspeakable(arguments: list[str]) -> None:
    """Raise UserError for a word that cannot be a file name; a shell cannot pass one, but a Python caller can."""
    for word in arguments:
        try:
            if b"\0" not in os.fsencode(word):
                continue
        except UnicodeEncodeError:
            pass
        raise UserError(f"{word!r} holds a character that no file name can hold; leave it out")


def _close_pipe() -> None:
    """Keep the interpreter from complaining at its end that its remaining output has no reader."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
