"""A model that was recorded, run again with its own weights: on other sequences, padded, continued, differentiated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from veriformer.adapters.capture.captured import framework_that_runs, recorded_pass
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.models import Model
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError, LoadError, NotDifferentiable, describe
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.whole_models.caching import Caching, caching_of
from veriformer.adapters.whole_models.padding import Padding, padding_of
from veriformer.adapters.whole_models.sequence import Array, Sequences, sequences_of
from veriformer.adapters.whole_models.stage import Stage, staged
from veriformer.adapters.whole_models.whole import drawing, inputs_of

NARROW = "bfloat16"
"""The low precision in which a model is run."""


@dataclass(frozen=True)
class Offers:
    """What a model can be run on again: its inputs, whether it takes padding, has a cache, and can be differentiated.

    `dtype` is the precision of its runs, `parameters` are those that require a gradient.
    """

    inputs: BlackBox
    dtype: str
    padding: bool = False
    caching: bool = False
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """One run on sequences (B, L) or (B, L, E).

    Where `real` (B, L) is given, all other tokens are padding; `parts` are the lengths in which the sequences are fed,
    with a cache. `narrow` asks for half precision.
    """

    inputs: Array
    real: Array | None = None
    parts: tuple[int, ...] = ()
    narrow: bool = False


class Repeatable(Protocol):
    """A model that can be run again, here or in a process of its own. All methods raise CaptureError with a sentence.

    The sentence is the predicate of one about the model: "raises IndexError: …".
    """

    def offers(self) -> Offers:
        """Return what the model can be run on."""

    def results(self, run: Run) -> Array:
        """Return the results of a run, (B, L, ·)."""

    def gradients(self, inputs: Array, cotangent: Array) -> Array:
        """Return ⟨∂, w⟩, ‖∂‖ and ‖w‖ for each parameter w with the gradient ∂ of ⟨cotangent, results⟩, (P, 3)."""

    def recorded(self, run: Run) -> Trace:
        """Return the record of a run without parts."""


_ON_STAGE: dict[str, Again] = {}
"""The model of each framework that may be on its stage."""


class Again:
    """A model in this process that is run again; it is left as it was at the end of the context `running_again`."""

    def __init__(self, found: Model, arguments: Arguments, stages: ExitStack, *, causal: bool) -> None:
        self._found, self._arguments, self._causal = found, arguments, causal
        self._stages = stages
        self._is_narrow: bool | None = None
        # That of the wide stage, once it is known.
        self._wide: str | None = None
        self._sequences: Sequences | None = None
        self._padding: Padding | None = None
        self._caching: Caching | None = None

    def offers(self) -> Offers:
        """Return what the model can be run on; its ways to take padding and a cache are found by trying them."""
        with _in_sentences():
            sequences = self._on_stage(narrow=False)
            box = BlackBox(**inputs_of(sequences))
            draw, longest = drawing(sequences, box), box.max_length or 1
            if not sequences.is_fixed:
                self._padding = padding_of(sequences, draw, longest)
                self._caching = caching_of(sequences, draw, longest) if self._causal else None
            return Offers(
                box,
                sequences.stage.dtype,
                self._padding is not None,
                self._caching is not None,
                sequences.stage.learned,
            )

    def results(self, run: Run) -> Array:
        """Return the results of a run."""
        with _in_sentences():
            sequences = self._on_stage(narrow=run.narrow)
            inputs, extra = sequences.as_framework(run.inputs), self._extra(sequences, run)
            if run.parts and self._caching is not None:
                return sequences.as_numpy(self._caching.outputs(sequences, inputs, run.parts, extra))
            return sequences.as_numpy(sequences.outputs(inputs, extra))

    def gradients(self, inputs: Array, cotangent: Array) -> Array:
        """Return what no layout changes about the gradients of the parameters."""
        with _in_sentences():
            sequences = self._on_stage(narrow=False)
            framed, factors = sequences.as_framework(inputs), sequences.as_framework(cotangent)
            rows = sequences.stage.gradients_by_size(lambda: sequences.outputs(framed), factors)
            return np.array(rows, dtype=np.float64).reshape(-1, 3)

    def recorded(self, run: Run) -> Trace:
        """Return the record of a run."""
        with _in_sentences():
            sequences = self._on_stage(narrow=False)
            arguments = sequences.arguments(sequences.as_framework(run.inputs), self._extra(sequences, run))
            positional, keywords = _of_numpy(sequences, arguments)
            # A record is made of the model itself, which no stage must have changed.
            self._leave_stage()
            return recorded_pass(self._found, positional or None, keywords or None, seed=None).trace

    def _on_stage(self, *, narrow: bool) -> Sequences:
        """Return how the model is called, after it was put on the stage of that precision; there is one at a time."""
        if self._sequences is None or self._is_narrow != narrow:
            self._leave_stage()
            self._make_room()
            dtype = NARROW if narrow else self._wide
            stage = self._stages.enter_context(staged(self._found, self._arguments, None, dtype))
            self._wide = "float64" if not narrow and stage.dtype == "float64" else self._wide
            self._sequences, self._is_narrow = self._called(stage), narrow
        return self._sequences

    def _make_room(self) -> None:
        """Take another model of the framework off its stage: some of what a stage sets is the framework's own."""
        framework = framework_that_runs(self._found)
        other = _ON_STAGE.get(framework)
        if other is not None and other is not self:
            other._leave_stage()
        _ON_STAGE[framework] = self

    def _called(self, stage: Stage) -> Sequences:
        return sequences_of(stage, stage.cast(self._arguments))

    def _leave_stage(self) -> None:
        self._stages.close()
        self._sequences = None

    def _extra(self, sequences: Sequences, run: Run) -> Mapping[str, Any]:
        """Return the argument for padding; without any only if the model was recorded with one."""
        padding = self._padding
        if padding is None or (run.real is None and sequences.place_of(padding.name) not in sequences.given):
            return {}
        real = np.ones(run.inputs.shape[:2], dtype=bool) if run.real is None else run.real
        return {padding.name: padding.argument(sequences, real)}


def _of_numpy(sequences: Sequences, arguments: Arguments) -> Arguments:
    """Return arguments with arrays of NumPy, which are in no precision of a framework."""

    def plain(value: Any) -> Any:
        return sequences.as_numpy(value) if sequences.stage.framework.is_array(value) else value

    positional, keywords = arguments
    return tuple(map(plain, positional)), {name: plain(value) for name, value in keywords.items()}


@contextmanager
def running_again(found: Model, arguments: Arguments, *, causal: bool) -> Iterator[Again]:
    """Yield a model that can be run again; `arguments` are those of its recorded pass."""
    with ExitStack() as stages:
        again = Again(found, arguments, stages, causal=causal)
        try:
            yield again
        finally:
            for framework in [name for name, one in _ON_STAGE.items() if one is again]:
                del _ON_STAGE[framework]


@contextmanager
def _in_sentences() -> Iterator[None]:
    """Raise CaptureError for whatever a model raises."""
    try:
        yield
    except NotDifferentiable as error:
        raise CaptureError(f"is not differentiated: {error}") from error
    except LoadError as error:
        raise CaptureError(f"is not run: {error}") from error
    except Exception as error:
        raise CaptureError(f"raises {describe(error)}") from error
