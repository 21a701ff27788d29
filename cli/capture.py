"""`veriformer capture`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from veriformer.cli.failures import UserError
from veriformer.cli.isolation import is_isolated, isolation_options
from veriformer.cli.options import file_option, flag, refuse_unwritable, writing


@click.command("capture", short_help="Record a whole model, to be compared elsewhere.")
@click.argument("model", metavar="MODEL")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", required=True, help="Write this file.")
@file_option("--inputs", meaning="Run the model on the arrays in this .npz or .npy file.")
@flag("--traceback", meaning="Show where the model raised.")
@isolation_options
def capture_command(**options: Any) -> int:
    """Record one forward pass of a model with its own weights, and write it to a file.

    `veriformer compare FILE.trace other.py:build` compares it with a model that may need another environment, or
    another machine. The file has the weights of the model and every value that the pass computed. Its name ends in
    .trace, or in .safetensors, whose arrays other tools read too.

    Exit status: 0 the file was written, 2 the model could not be recorded.
    """
    from veriformer.adapters.capture.input_files import read_inputs
    from veriformer.adapters.capture.isolated import MODEL_LIMITS
    from veriformer.adapters.capture.probable import RECORDS
    from veriformer.adapters.capture.storage import write_trace
    from veriformer.adapters.errors import LoadError
    from veriformer.conformance_tests.ports.recording import recordable

    source, path = options["model"], options["output"]
    if path.suffix not in RECORDS:
        raise UserError(
            f"the name of a record ends in {' or '.join(RECORDS)}, by which compare knows it; {path} does not"
        )
    refuse_unwritable(path, (source,))
    limits = options["isolation"].limits(MODEL_LIMITS) if is_isolated(source, options["isolation"].isolate) else None
    try:
        inputs = None if options["inputs"] is None else read_inputs(options["inputs"])
        with recordable((source,), (limits,)) as (model,):
            trace = model.record(None, inputs)
    except LoadError as error:
        raise UserError(str(error), error.__cause__ or error) from error
    with writing(path):
        write_trace(trace, path)
    click.echo(f"{path}: {source}, {trace.framework} {trace.dtype}, {len(trace.steps):,} steps")
    return 0
