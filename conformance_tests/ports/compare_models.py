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
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.conformance_tests.core.naming import told_apart
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.ports.hidden import hidden_weights
from veriformer.conformance_tests.ports.recording import Recordable, both_recorded, recordable

_INTERRUPTED = (
    "interrupted while they were compared on other inputs, so that a smallest input, other lengths, padding, a cache, "
    "gradients and 16 bits are missing, which says nothing of them"
)


def compare_models(
    first: object,
    second: object,
    inputs: Any = None,
    *,
    isolation: tuple[ProcessLimits | None, ProcessLimits | None] = (None, None),
    keeps_interrupted: bool = False,
) -> PortComparison:
    """Return where and why the second of two whole models differs from the first, each with its own weights.

    Each is a model, or what names it: "model.py:GPT", "package.module:build", "model.onnx". `inputs` are as in
    `check_model`, for both models; the second takes them by position. Without them the first model's own are taken, or
    some that are guessed for it. With `isolation` a file is loaded and run in a process of its own. With
    `keeps_interrupted` an interrupt ends what is repeated on other inputs, once one pass is compared.

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
        found = _compared(names, traces, models, keeps_interrupted=keeps_interrupted)
    for one in (name_of(first), name_of(second), _both(names)):
        SO_FAR.forget(one)
    return replace(found, seconds=time.monotonic() - started)


def _import_the_rest() -> None:
    """Import what compares, which brings the families and the laws of all operations."""
    import_module("veriformer.conformance_tests.ports.situations.repeating")


def _both(names: tuple[str, str]) -> str:
    return " and ".join(names)


def _compared(
    names: tuple[str, str], traces: tuple[Trace, Trace], models: Sequence[Recordable], *, keeps_interrupted: bool
) -> PortComparison:
    """Return the comparison of two models by their records, and by what they do when they are run again."""
    from veriformer.conformance_tests.ports.comparing import Comparing
    from veriformer.conformance_tests.ports.situations.repeating import with_situations
    from veriformer.conformance_tests.recognition.causality import is_causal

    SO_FAR.begin(_both(names))
    SO_FAR.doing("comparing their parts")
    comparing = Comparing(names[0], traces[0], names[1], traces[1])
    sides = comparing.first, comparing.second
    found = comparing.result()
    try:
        again = [model.again(causal=is_causal(side.model)) for model, side in zip(models, sides, strict=True)]
        found = with_situations(found, comparing, (again[0], again[1]))
    except KeyboardInterrupt:
        if not keeps_interrupted:
            raise
        found = replace(found, interrupted=True, notices=(*found.notices, _INTERRUPTED))
    return _with_remarks(found, names, traces)


def _with_remarks(found: PortComparison, names: tuple[str, str], traces: tuple[Trace, Trace]) -> PortComparison:
    first = traces[0]
    notes = [f"{name}: {note}" for name, trace in zip(names, traces, strict=True) for note in trace.notes]
    shapes = ", ".join(
        f"{'tokens' if array.dtype.kind == 'i' else 'numbers'} {array.shape}"
        for array in (first.values[index].array for index in first.inputs)
    )
    return replace(found, notices=(*notes, *hidden_weights(first), *found.notices), inputs=shapes)
