"""A model on JAX on its stage: Flax NNX, Equinox, Keras, or a function with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import numpy as np
from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.capture.jax import drawn_arrays, to_jax
from veriformer.adapters.capture.jax_models import Program, program_of
from veriformer.adapters.capture.weights import is_floating
from veriformer.adapters.errors import NotDifferentiable
from veriformer.adapters.jax_arrays import JaxArrays
from veriformer.adapters.whole_models.rounding import rounds_to_single
from veriformer.adapters.whole_models.stage import Stage


@contextmanager
def jax_stage(model: Any, arguments: Arguments, seed: int | None, dtype: str | None = None) -> Iterator[Stage]:
    """Put a model on its stage, in `dtype`, or in float64 if it runs in it on these arguments and throughout."""
    with jax.default_device(jax.devices("cpu")[0]):
        program = program_of(model, *arguments)
        arrays = drawn_arrays(program, seed)
        if dtype not in (None, "float64"):
            yield JaxStage(program, [to_jax(array, jax.numpy.dtype(dtype)) for array in arrays])
            return
        with ExitStack() as wide:
            wide.enter_context(jax.enable_x64(True))
            wide.enter_context(program.in_float64())
            stage = JaxStage(program, [to_jax(array, np.dtype(np.float64)) for array in arrays])
            if dtype is not None or _serves(stage, arguments):
                yield stage
                return
        yield JaxStage(program, [to_jax(array, None) for array in arrays])


def _serves(stage: JaxStage, arguments: Arguments) -> bool:
    try:
        return not rounds_to_single(stage, stage.cast(arguments))
    except Exception:
        return False


class JaxStage(Stage):
    """A program of JAX with its arrays, compiled for each shape of its inputs."""

    def __init__(self, program: Program, arrays: Sequence[Any]) -> None:
        self.framework = JaxArrays()
        self.model = program
        self.called = program.called
        self.first_input = program.first_input
        self._arrays = list(arrays)
        leaves = list(zip(program.leaves, self._arrays, strict=True))
        self._learned = [
            place
            for place, (leaf, array) in enumerate(leaves)
            if leaf.origin == "parameter" and is_floating(np.dtype(array.dtype))
        ]
        self.shapes = {leaf.name: tuple(array.shape) for leaf, array in leaves if leaf.origin == "parameter"}
        self.buffers = {leaf.name: tuple(array.shape) for leaf, array in leaves if leaf.origin != "parameter"}
        learned = [self._arrays[place] for place in self._learned]
        self.learned = tuple(program.leaves[place].name for place in self._learned)
        self._drawn = [np.asarray(array) for array in learned]
        self.size = sum(int(array.size) for array in learned)
        self.dtype = str(learned[0].dtype.name) if learned else "float32"
        self._compiled: dict[Any, Any] = {}
        self._is_differentiated = False

    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return whatever the program returns."""
        leaves, structure = jax.tree_util.tree_flatten((positional, dict(keywords)))
        traced = tuple(place for place, leaf in enumerate(leaves) if is_array(leaf))
        others = tuple(None if place in traced else leaf for place, leaf in enumerate(leaves))
        run = self._run(structure, traced, others)
        return run(self._arrays, [leaves[place] for place in traced])

    def _run(self, structure: Any, traced: tuple[int, ...], others: tuple[Any, ...]) -> Any:
        """Return the compiled function of the arrays among the inputs, the other ones being as they are."""
        key = (structure, traced, repr(others), self._is_differentiated)
        if key not in self._compiled:

            def run(arrays: Sequence[Any], fed: Sequence[Any]) -> Any:
                filled = list(others)
                for place, array in zip(traced, fed, strict=True):
                    filled[place] = array
                positional, keywords = jax.tree_util.tree_unflatten(structure, filled)
                return self.model.call(arrays, positional, keywords)

            # Optimised machine code takes twice as long to make, for sequences that are short. What is differentiated
            # is part of a larger program, whose parts have no options.
            options = None if self._is_differentiated else {"xla_backend_optimization_level": 0}
            self._compiled[key] = jax.jit(run, compiler_options=options)
        return self._compiled[key]

    def cast(self, arguments: Arguments) -> Arguments:
        """Return arguments as arrays of JAX, floating-point numbers in the dtype of the stage."""

        def cast(leaf: Any) -> Any:
            return to_jax(np.asarray(leaf), np.dtype(self.dtype)) if is_array(leaf) else leaf

        positional, keywords = jax.tree_util.tree_map(cast, arguments)
        return positional, keywords

    @contextmanager
    def scaled(self, factor: float) -> Iterator[None]:
        """Multiply all parameters by a factor, and have the former ones back afterwards."""
        with self._holding([self._arrays[place] * factor for place in self._learned]):
            yield

    @contextmanager
    def moved(self, places: Sequence[int], by: float) -> Iterator[None]:
        """Move some parameters, and have the former ones back afterwards."""
        learned = [self._arrays[place] for place in self._learned]
        for place in places:
            learned[place] = learned[place] + by * self.direction(place)
        with self._holding(learned):
            yield

    def differentiated(self, result: Callable[[], Any], cotangent: Any) -> list[float]:
        """Go back with jax.grad."""

        def value(learned: list[Any]) -> Any:
            with self._holding(learned):
                return (result() * cotangent).sum()

        return list(self._gradient(value, [self._arrays[place] for place in self._learned]))

    def differentiated_by_input(self, result: Callable[[Any], Any], inputs: Any, cotangent: Any) -> Any:
        """Go back with jax.grad."""
        return self._gradient(lambda fed: (result(fed) * cotangent).sum(), inputs)

    def _gradient(self, value: Callable[[Any], Any], at: Any) -> Any:
        self._is_differentiated = True
        try:
            return jax.grad(value)(at)
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise NotDifferentiable("jax cannot trace how its results are put together") from error
        finally:
            self._is_differentiated = False

    def held(self, place: int) -> Any:
        """Return a learned parameter."""
        return self._arrays[self._learned[place]]

    @contextmanager
    def _holding(self, learned: Sequence[Any]) -> Iterator[None]:
        """Let the program have these parameters."""
        before = list(self._arrays)
        for place, array in zip(self._learned, learned, strict=True):
            self._arrays[place] = array
        try:
            yield
        finally:
            self._arrays[:] = before

    def direction(self, place: int) -> Any:
        """Return a direction of a parameter: its numbers, which were drawn, in reverse; ones where all are zero."""
        array = self._drawn[place]
        reverse = array.reshape(-1)[::-1].reshape(array.shape)
        return to_jax(reverse if reverse.any() else np.ones_like(reverse), array.dtype)
