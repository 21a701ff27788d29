"""Recording two models on the same inputs, each with its own weights, each in a process of its own if asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.isolated import IsolatedModel
from veriformer.adapters.capture.models import Model, load_model
from veriformer.adapters.capture.probable import RECORDS
from veriformer.adapters.capture.storage import read_trace
from veriformer.adapters.capture.trace import Kind, Trace
from veriformer.adapters.errors import CaptureError, LoadError
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.whole_models.again import Repeatable, running_again
from veriformer.adapters.whole_models.again_elsewhere import AgainElsewhere
from veriformer.conformance_tests.drawing.arrays import Array


class Recordable(Protocol):
    """A model that can be recorded again and again."""

    def record(
        self, seed: int | None, inputs: Arguments | None = None, offered: Sequence[Array] | None = None
    ) -> Trace:
        """Return the record of a pass, with the model's own weights where there is no seed."""

    def again(self, *, causal: bool) -> Repeatable | None:
        """Return the model, to be run again after its last record; None where that cannot be."""


class _Here:
    """A model in this process, which is left as it was when `contexts` are left."""

    def __init__(self, target: object, contexts: ExitStack) -> None:
        self._target, self._contexts = target, contexts
        self._last: tuple[Model, Arguments] | None = None

    def record(
        self, seed: int | None, inputs: Arguments | None = None, offered: Sequence[Array] | None = None
    ) -> Trace:
        positional, keywords = inputs or ((), {})
        found = load_model(self._target)
        recorded = recorded_pass(found, positional or None, keywords or None, seed=seed, offered=offered)
        self._last = found, recorded.arguments
        return recorded.trace

    def again(self, *, causal: bool) -> Repeatable | None:
        return None if self._last is None else self._contexts.enter_context(running_again(*self._last, causal=causal))


class _Elsewhere:
    """A model in a process of its own."""

    def __init__(self, model: IsolatedModel) -> None:
        self.model = model

    def record(
        self, seed: int | None, inputs: Arguments | None = None, offered: Sequence[Array] | None = None
    ) -> Trace:
        return self.model.record(seed, inputs, offered)

    def again(self, *, causal: bool) -> Repeatable | None:
        return AgainElsewhere(self.model, causal=causal)


class _Kept:
    """The record of a model in a file, perhaps from another machine; it cannot be made again."""

    def __init__(self, source: str) -> None:
        path = Path(source).expanduser()
        if not path.is_file():
            raise LoadError(f"there is no file {source}; write it with veriformer capture MODEL -o {source}")
        self._source = source
        self._trace = read_trace(path)

    def record(
        self, seed: int | None, inputs: Arguments | None = None, offered: Sequence[Array] | None = None
    ) -> Trace:
        wanted = offered if inputs is None else [*inputs[0], *inputs[1].values()]
        own = inputs_of(self._trace)
        same = wanted is None or (
            len(wanted) == len(own) and all(np.array_equal(one, other) for one, other in zip(wanted, own, strict=True))
        )
        if not same:
            raise CaptureError(
                f"{self._source} is the record of a model on other inputs; record it again on these, with "
                "veriformer capture --inputs FILE, or compare it with a model that takes its inputs"
            )
        return self._trace

    def again(self, *, causal: bool) -> Repeatable | None:
        return None


@contextmanager
def recordable(
    targets: Sequence[object], limits: Sequence[ProcessLimits | None], meanwhile: Callable[[], object] = lambda: None
) -> Iterator[list[Recordable]]:
    """Yield models that can be recorded; one with limits is built in a process of its own, which ends with the context.

    They are built side by side, and `meanwhile` runs in this process.
    """
    contexts = ExitStack()
    models = [_found(target, own, contexts) for target, own in zip(targets, limits, strict=True)]
    elsewhere = [model.model for model in models if isinstance(model, _Elsewhere)]
    try:
        with ThreadPoolExecutor(max(len(elsewhere), 1)) as pool, _killed_if_interrupted(elsewhere):
            building = [pool.submit(model.build) for model in elsewhere]
            meanwhile()
            for one in building:
                one.result()
        with contexts:
            yield [*models]
    finally:
        for model in elsewhere:
            model.close()


@contextmanager
def _killed_if_interrupted(models: Sequence[IsolatedModel]) -> Iterator[None]:
    """Kill the processes of models at an interrupt, so that the threads that wait for them end."""
    try:
        yield
    except KeyboardInterrupt:
        for model in models:
            model.kill()
        raise


def _found(target: object, limits: ProcessLimits | None, contexts: ExitStack) -> _Here | _Kept | _Elsewhere:
    if isinstance(target, str) and target.endswith(RECORDS):
        return _Kept(target)
    if limits is None or not isinstance(target, str):
        return _Here(target, contexts)
    return _Elsewhere(IsolatedModel(target, limits))


def both_recorded(first: Recordable, second: Recordable, inputs: Arguments | None = None) -> tuple[Trace, Trace]:
    """Return the records of two models on the same inputs: those given, else those of the first model.

    Where the second takes no batch, both get one sample; where it has fewer rows for tokens, both get smaller tokens.
    """
    if inputs is None and isinstance(second, _Kept):
        # What was recorded cannot be run on other inputs; the first model may be.
        inputs = tuple(inputs_of(second.record(None))), {}
    one = first.record(None, inputs)
    arrays = inputs_of(one)
    rows = None
    try:
        other = second.record(None, offered=arrays)
    except CaptureError:
        alone = _first_sample(arrays)
        if alone is None:
            raise
        other = second.record(None, offered=alone)
        one = _again(first, one, alone)
        arrays = alone
    rows = _rows_of_tokens(other, arrays)
    if rows is not None:
        smaller = [array % rows if array.dtype.kind == "i" else array for array in arrays]
        note = f"tokens are below {rows}, since the second model has no more rows for them"
        one, other = _again(first, one, smaller), second.record(None, offered=smaller)
        one = replace(one, notes=(*one.notes, note))
    return one, other


def _again(model: Recordable, before: Trace, arrays: Sequence[Array]) -> Trace:
    again = model.record(None, offered=arrays)
    return replace(again, notes=before.notes)


def inputs_of(trace: Trace) -> list[Array]:
    """Return the arrays that a model was run on."""
    return [trace.values[index].array for index in trace.inputs]


def _first_sample(arrays: Sequence[Array]) -> list[Array] | None:
    """Return the first sample of inputs that have several; None where they have one, or none that is known."""
    batches = {array.shape[0] for array in arrays if array.ndim > 1}
    if len(batches) != 1 or batches == {1} or any(array.ndim < 2 for array in arrays):
        return None
    return [np.ascontiguousarray(array[:1]) for array in arrays]


def _rows_of_tokens(trace: Trace, arrays: Sequence[Array]) -> int | None:
    """Return how many rows a table has that tokens of the inputs are too large for; None where there is none."""
    tokens = [array for array in arrays if array.dtype.kind == "i" and array.size]
    if not tokens:
        return None
    largest = max(int(array.max()) for array in tokens)
    for step in trace.steps:
        if step.kind != Kind.LOOKUP or len(step.operands) < 2:
            continue
        table = trace.values[step.operands[0]]
        indices = [trace.values[one].array for one in step.operands[1:]]
        of_tokens = any(index.dtype.kind == "i" and index.size and int(index.max()) == largest for index in indices)
        if table.origin == "parameter" and of_tokens and table.array.shape[0] <= largest:
            return int(table.array.shape[0])
    return None
