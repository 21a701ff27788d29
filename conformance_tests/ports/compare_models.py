"""Comparing two whole models: recorded on the same inputs, then part by part."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib import import_module
from io import StringIO
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments, arguments_in
from veriformer.adapters.capture.models import name_of
from veriformer.adapters.capture.random_state import kept
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.conformance_tests.core.naming import told_apart
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.ports.hidden import hidden_weights
from veriformer.conformance_tests.ports.recording import Recordable, both_recorded, recordable


def compare_models(
    first: object,
    second: object,
    inputs: Any = None,
    *,
    isolation: tuple[ProcessLimits | None, ProcessLimits | None] = (None, None),
) -> PortComparison:
    """Return where and why the second of two whole models differs from the first, each with its own weights.

    Each is a model, or what names it: "model.py:GPT", "package.module:build", "model.onnx". `inputs` are as in
    `check_model`, for both models; the second takes them by position. Without them the first model's own are taken, or
    some that are guessed for it. With `isolation` a file is loaded and run in a process of its own.

    Raises NotAModel, LoadError and CaptureError as `check_model` does.
    """
    started = time.monotonic()
    given: Arguments | None = None if inputs is None else arguments_in(inputs)
    with ExitStack() as stack:
        if isolation == (None, None):
            stack.enter_context(redirect_stdout(StringIO()))
            stack.enter_context(redirect_stderr(StringIO()))
        # Models that are run again here put the random state back in no order of their own.
        stack.enter_context(kept())
        models = stack.enter_context(recordable((first, second), isolation, _import_the_rest))
        traces = both_recorded(models[0], models[1], given)
        names = told_apart((name_of(first), name_of(second)), (first, second))
        found = _compared(names, traces, models)
    return replace(found, seconds=time.monotonic() - started)


def _import_the_rest() -> None:
    """Import what compares, which brings the families and the laws of all operations."""
    import_module("veriformer.conformance_tests.ports.situations.repeating")


def _compared(names: tuple[str, str], traces: tuple[Trace, Trace], models: Sequence[Recordable]) -> PortComparison:
    """Return the comparison of two models by their records, and by what they do when they are run again."""
    from veriformer.conformance_tests.ports.comparing import Comparing
    from veriformer.conformance_tests.ports.situations.repeating import with_situations
    from veriformer.conformance_tests.recognition.causality import is_causal

    comparing = Comparing(names[0], traces[0], names[1], traces[1])
    sides = comparing.first, comparing.second
    again = [model.again(causal=is_causal(side.model)) for model, side in zip(models, sides, strict=True)]
    found = with_situations(comparing.result(), comparing, (again[0], again[1]))
    return _with_remarks(found, names, traces)


def _with_remarks(found: PortComparison, names: tuple[str, str], traces: tuple[Trace, Trace]) -> PortComparison:
    first = traces[0]
    notes = [f"{name}: {note}" for name, trace in zip(names, traces, strict=True) for note in trace.notes]
    shapes = ", ".join(
        f"{'tokens' if array.dtype.kind == 'i' else 'numbers'} {array.shape}"
        for array in (first.values[index].array for index in first.inputs)
    )
    return replace(found, notices=(*notes, *hidden_weights(first), *found.notices), inputs=shapes)
