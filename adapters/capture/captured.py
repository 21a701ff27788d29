"""The record of a model, whatever its framework: the capture that fits, on inputs that were handed over or guessed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from veriformer.adapters.capture import random_state
from veriformer.adapters.capture.fitting_inputs import HAND_OVER, NoInputsFit, first_that_runs, inputs_example
from veriformer.adapters.capture.handed_over import Arguments, arguments_in
from veriformer.adapters.capture.inputs import Candidate, Shape, arguments_of, candidates, sizes_for
from veriformer.adapters.capture.keras_paths import is_keras_layer
from veriformer.adapters.capture.models import Model, lacks_forward, load_model
from veriformer.adapters.capture.offered import offered_candidates
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.errors import CaptureError, LoadError, describe
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.import_errors import location
from veriformer.adapters.isolation.memory import is_short
from veriformer.adapters.matching.texts import reads

# What torch says where the CPU has no kernel for float16 or bfloat16.
_HALF_PRECISION = ("not implemented for 'Half'", "not implemented for 'BFloat16'")
# The roundoff of bfloat16, with a bit to spare.
_NARROWEST = 2.0**-7
# A cache may have rows for a few samples alone.
_FEW = 2
# Inputs for shapes of parameters and of other arrays, for a function from one of its arguments on.
_Guess = Callable[[Mapping[str, Shape], Mapping[str, Shape], Callable[..., Any], int], Iterator[Candidate]]


@dataclass(frozen=True)
class _Runner:
    """How a model of one framework is run: tried on guessed inputs, and recorded."""

    record: Callable[[tuple[Any, ...], Mapping[str, Any]], Trace]
    attempt: Callable[[tuple[Any, ...], Mapping[str, Any]], object]
    guesses: Callable[[], Iterator[Candidate]]
    signature: Callable[[], tuple[Callable[..., Any] | None, int]]
    """What has the signature of the inputs, and at which of its arguments they begin."""
    converted: Callable[[Any], Any] = lambda tree: tree
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pass:
    """A recorded pass, and the arguments of the model's framework that it was recorded on."""

    trace: Trace
    arguments: Arguments


def capture_model(
    model: object, inputs: Any = None, keywords: Mapping[str, Any] | None = None, *, seed: int | None
) -> Trace:
    """Return the record of one forward pass of a model, which is left as it was, and so is the random state.

    `model` is a `Model`, what `load_model` takes, or the pair (function, parameters). Without `inputs` and `keywords`
    those of its file are taken, otherwise some are guessed. With a `seed` the weights are drawn for the pass.

    Raises NotAModel, LoadError as `load_model` does; CaptureError where the model cannot be recorded.
    """
    return recorded_pass(load_model(model), inputs, keywords, seed=seed).trace


def recorded_pass(
    found: Model,
    inputs: Any = None,
    keywords: Mapping[str, Any] | None = None,
    *,
    seed: int | None,
    offered: Sequence[Array] | None = None,
    one_sample: bool = False,
) -> Pass:
    """Return the record of one forward pass, with the arguments; as `capture_model` otherwise.

    `offered` are the inputs of another model, which are handed over as the signature of this one allows; the inputs in
    its own file are left aside then. With `one_sample` inputs are guessed with a single sample; CaptureError where they
    are handed over.
    """
    SO_FAR.doing("recording a forward pass of it")
    if lacks_forward(found.found):
        kind = type(found.found).__name__
        raise CaptureError(f"{kind} has no forward method; write it: `def forward(self, x):` with what {kind} computes")
    with random_state.seeded(0), found.imports():
        given = None if offered is not None else _given(found, inputs, keywords)
        if offered is None:
            _give_weights(found.found, given)
        runner = _runner(found, seed, one_sample=one_sample)
        if offered is not None:
            recorded = _on_candidates(found, runner, offered_candidates(offered, *runner.signature()))[0]
            guessed = None
        else:
            if given and one_sample:
                raise CaptureError(f"{found.name} runs on the inputs that were handed over, not on one sample")
            recorded, guessed = (
                (_recorded(found, runner, given), None) if given else _on_candidates(found, runner, runner.guesses())
            )
    trace = recorded.trace
    SO_FAR.found(f"a forward pass of it was recorded: {len(trace.steps):,} steps in {trace.dtype}")
    if not trace.outputs:
        raise CaptureError(f"{found.name} returned no array; return the result of the model from its forward pass")
    inputs_note = _inputs_note(guessed, runner) if guessed else ()
    trace = replace(trace, left_out=guessed.left_out if guessed else (), configuration=found.configuration)
    if found.framework == "onnx":
        # A graph guesses what is missing; these are the inputs that it was run on.
        fed = {trace.values[index].name: trace.values[index].array for index in trace.inputs}
        recorded = replace(recorded, arguments=((), fed))
    trace = _with_names(trace, recorded.arguments, *runner.signature())
    return replace(recorded, trace=replace(trace, notes=(*trace.notes, *found.notes, *runner.notes, *inputs_note)))


def _give_weights(model: object, given: Arguments | None) -> None:
    """Give a layer of Keras that has none its weights, on inputs that were handed over, else on such as it takes."""
    if is_keras_layer(model) and not getattr(model, "built", True):
        from veriformer.adapters.capture.keras_unbuilt import give_weights

        give_weights(model, given)


def _inputs_note(guessed: Candidate, runner: _Runner) -> tuple[str, ...]:
    """Return on what a model was run, and which of the arguments that were left out its code does not read."""
    called, _ = runner.signature()
    unread = [name for name in guessed.left_out if called is not None and not reads(called, name)]
    without_effect = (f"`{name}` has no effect: the code of the forward pass does not read it" for name in unread)
    return (f"it was run on {guessed.words}, since no inputs were handed over", *without_effect)


def _with_names(trace: Trace, given: Arguments, called: Callable[..., Any] | None, first_input: int) -> Trace:
    """Return a record whose inputs are called like the arguments that they are handed over as."""
    positional, keywords = given
    arguments = [one.name for one in arguments_of(called)[first_input:]]
    # Frameworks flatten a dictionary in its own order, or sorted.
    for ordered in (list(keywords), sorted(keywords)):
        names = [*arguments[: len(positional)], *ordered]
        arrays = [*positional, *(keywords[name] for name in ordered)]
        handed = {name: array for name, array in zip(names, arrays, strict=False) if array is not None}
        if len(handed) == len(trace.inputs) and all(
            _holds(trace.values[index].array, array) for index, array in zip(trace.inputs, handed.values(), strict=True)
        ):
            values = list(trace.values)
            for name, index in zip(handed, trace.inputs, strict=True):
                values[index] = replace(values[index], name=name)
            return replace(trace, values=tuple(values))
    return trace


def _holds(recorded: Array, given: Any) -> bool:
    """Return whether the array that was recorded may be one that was handed over, perhaps in another precision."""
    try:
        array = np.asarray(given)
        return array.shape == recorded.shape and np.allclose(array, recorded, rtol=_NARROWEST, equal_nan=True)
    except Exception:
        # What NumPy cannot read may be any.
        return True


def _given(found: Model, inputs: Any, keywords: Mapping[str, Any] | None) -> Arguments | None:
    """Return the inputs that were handed over, None if none were."""
    if inputs is None and not keywords:
        return None if found.inputs is None else arguments_in(found.inputs)
    positional, named = ((), {}) if inputs is None else arguments_in(inputs)
    return positional, {**named, **(keywords or {})}


def _recorded(found: Model, runner: _Runner, given: Arguments) -> Pass:
    positional, keywords = runner.converted(given)
    try:
        return Pass(runner.record(positional, keywords), (positional, keywords))
    except LoadError:
        raise
    except Exception as error:
        raise CaptureError(_raised(found, error, f"on the inputs {_described(given)}")) from error


def _on_candidates(found: Model, runner: _Runner, inputs: Iterator[Candidate]) -> tuple[Pass, Candidate]:
    """Return the record on the first of some inputs that the model takes, and what they are."""

    def run(candidate: Candidate) -> Arguments:
        converted: Arguments = runner.converted((candidate.arguments, dict(candidate.keywords)))
        try:
            runner.attempt(*converted)
        except Exception as error:
            if is_short(error, 0):
                # Other inputs would need as much.
                raise MemoryError(describe(error)) from error
            raise
        return converted

    try:
        chosen, (positional, keywords) = first_that_runs(inputs, run)
    except NoInputsFit as error:
        raise CaptureError(f"{found.name}: {error}{inputs_example(*runner.signature())}") from error
    except MemoryError as error:
        raise CaptureError(f"{found.name} needs more memory than there is; make the model smaller") from error
    try:
        return Pass(runner.record(positional, keywords), (positional, keywords)), chosen
    except LoadError:
        raise
    except Exception as error:
        raise CaptureError(_raised(found, error, f"while it was recorded on {chosen.description}")) from error


def _raised(found: Model, error: Exception, where: str) -> str:
    what = f"{found.name} raised {describe(error)}{location(error)} {where}"
    if any(words in str(error) for words in _HALF_PRECISION):
        return f"{what}: it computes in half precision, which the CPU cannot do; hand it over in float32 (`.float()`)"
    return f"{what}; if it needs others, {HAND_OVER}"


def _described(given: Arguments) -> str:
    """Return the shapes and dtypes of inputs in brackets."""
    positional, keywords = given
    parts = [_short(value) for value in positional]
    return f"({', '.join([*parts, *(f'{name}={_short(value)}' for name, value in keywords.items())])})"


def _short(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{str(value.dtype).rpartition('.')[2]} {tuple(value.shape)}"
    return type(value).__name__


# --- frameworks -------------------------------------------------------------------------------------------------------


def framework_that_runs(found: Model) -> str:
    """Return what runs a model: "torch", also for Keras on torch, "onnx", "numpy", or "jax" for all others."""
    if found.framework in ("onnx", "numpy"):
        return found.framework
    return "torch" if found.framework == "torch" or _is_torch_module(found.found) else "jax"


def _runner(found: Model, seed: int | None, *, one_sample: bool = False) -> _Runner:
    by = framework_that_runs(found)
    if by == "onnx":
        return _onnx_runner(found, seed)
    guess = partial(_guesses, seed=seed, one_sample=one_sample, padding=found.padding)
    if by == "torch":
        return _torch_runner(found, seed, guess)
    if by == "numpy":
        return _numpy_runner(found, seed, guess)
    if found.framework == "keras":
        _refuse_tensorflow(found.name)
    return _jax_runner(found, seed, guess)


def _refuse_tensorflow(name: str) -> None:
    backend = sys.modules["keras"].backend.backend()
    if backend not in ("jax", "torch"):
        raise CaptureError(
            f"{name} is a Keras model on the {backend} backend, which cannot be recorded; set KERAS_BACKEND=jax or "
            "KERAS_BACKEND=torch in the environment"
        )


def _is_torch_module(model: object) -> bool:
    nn = sys.modules.get("torch.nn")
    return nn is not None and isinstance(model, nn.Module)


def _torch_runner(found: Model, seed: int | None, guess: _Guess) -> _Runner:
    from veriformer.adapters.capture import torch, torch_models
    from veriformer.adapters.capture.torch_names import called_of

    model, notes = torch_models.unwrapped(found.found)
    notes += torch_models.notes_on_experts(model)
    torch_models.refuse_unreadable(model, found.name)

    def record(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Trace:
        with torch_models.eagerly(model):
            return torch.capture(model, inputs, keywords, seed=seed)

    def attempt(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        with torch_models.eagerly(model):
            torch_models.try_to_run(model, inputs, keywords)

    def guesses() -> Iterator[Candidate]:
        shapes = torch_models.shapes_of(model)
        return guess(shapes, torch_models.shapes_of_others(model), called_of(model), 0)

    def signature() -> tuple[Callable[..., Any], int]:
        return called_of(model), 0

    return _Runner(record, attempt, guesses, signature, lambda tree: torch_models.as_tensors(model, tree), notes)


def _jax_runner(found: Model, seed: int | None, guess: _Guess) -> _Runner:
    from veriformer.adapters.capture import jax, jax_models

    def record(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Trace:
        return jax.capture(found.found, inputs, keywords, seed=seed)

    def attempt(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        jax.try_to_run(found.found, inputs, keywords)

    def guesses() -> Iterator[Candidate]:
        if found.framework == "keras" and not found.found.built:
            raise CaptureError(
                f"{found.name} has no weights yet: Keras makes them when the model first runs; run it once in build(), "
                f"or {HAND_OVER}"
            )
        program = jax_models.program_of(found.found, (), {})
        shapes = {leaf.name: tuple(leaf.array.shape) for leaf in program.leaves if leaf.origin == "parameter"}
        others = {leaf.name: tuple(leaf.array.shape) for leaf in program.leaves if leaf.origin != "parameter"}
        guessed = guess(shapes, others, program.called, program.first_input)
        if found.framework != "keras":
            return guessed
        from veriformer.adapters.capture.keras_inputs import declared_inputs

        return chain(declared_inputs(found.found, shapes, sizes_for({**shapes, **others})), guessed)

    def signature() -> tuple[Callable[..., Any], int]:
        program = jax_models.program_of(found.found, (), {})
        return program.called, program.first_input

    return _Runner(record, attempt, guesses, signature, jax.as_arrays)


def _numpy_runner(found: Model, seed: int | None, guess: _Guess) -> _Runner:
    from veriformer.adapters.capture import numpy, numpy_models

    def record(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Trace:
        return numpy.capture(found.found, inputs, keywords, seed=seed)

    def attempt(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        numpy.try_to_run(found.found, inputs, keywords)

    def guesses() -> Iterator[Candidate]:
        program = numpy_models.program_of(found.found)
        shapes = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin == "parameter"}
        others = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin != "parameter"}
        return guess(shapes, others, program.called, program.first_input)

    def signature() -> tuple[Callable[..., Any], int]:
        program = numpy_models.program_of(found.found)
        return program.called, program.first_input

    return _Runner(record, attempt, guesses, signature)


def _onnx_runner(found: Model, seed: int | None) -> _Runner:
    """Return how a graph is run; it describes its inputs itself, and those that are missing are guessed from that."""
    from veriformer.adapters.capture import onnx

    def record(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> Trace:
        return onnx.capture(found.found, inputs, keywords, seed=seed)

    def attempt(_inputs: tuple[Any, ...], _keywords: Mapping[str, Any]) -> None:
        """Do nothing: there is one guess."""

    guess = Candidate("inputs as its graph describes them", ())
    return _Runner(record, attempt, lambda: iter([guess]), lambda: (None, 0))


def _guesses(
    shapes: Mapping[str, Shape],
    others: Mapping[str, Shape],
    called: Callable[..., Any],
    first_input: int,
    *,
    seed: int | None,
    one_sample: bool,
    padding: int | None,
) -> Iterator[Candidate]:
    sizes = sizes_for({**shapes, **others})
    batches = [1] if one_sample else list(dict.fromkeys([sizes.batch, min(sizes.batch, _FEW)]))
    of_batches = (
        candidates(shapes, called, first_input, seed or 0, replace(sizes, batch=batch), others, padding)
        for batch in batches
    )
    return chain.from_iterable(of_batches)
