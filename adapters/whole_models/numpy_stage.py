"""A model of NumPy on its stage: a copy of it on drawn arrays in float64, for many passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.capture.numpy import drawn_arrays
from veriformer.adapters.capture.numpy_models import Program, program_of
from veriformer.adapters.capture.weights import Array, is_floating
from veriformer.adapters.errors import NotDifferentiable, describe
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.adapters.whole_models.numpy_backward import backward_of, gradient_of_input, gradients_by, result_in
from veriformer.adapters.whole_models.stage import STEPS, Stage

# How near a difference quotient has to be to say what a gradient is divided by.
_NEAR = 1e-4


@contextmanager
def numpy_stage(model: Any, arguments: Arguments, seed: int | None) -> Iterator[Stage]:
    """Put a copy of a model on its stage; the model itself is never called. `arguments` are such as it runs on."""
    stage = NumPyStage(program_of(model), seed)
    stage.look_for_gradients(stage.cast(arguments))
    yield stage


class NumPyStage(Stage):
    """A program of NumPy with arrays of its own.

    NumPy does not differentiate: parameters count as learned if the model's own backward pass leaves their gradients.
    """

    dtype = "float64"

    def __init__(self, program: Program, seed: int | None) -> None:
        self.framework = NumPyArrays()
        self.model = program
        self.called = program.called
        self.first_input = program.first_input
        self._returned: Any = None
        # Over how many of the first axes its gradients are means.
        self._mean_over = 0
        self._backward = backward_of(program.root)
        arrays = drawn_arrays(program, seed)
        self._held = {one.names[0]: arrays[id(one.array)] for one in program.held if one.origin == "parameter"}
        self._parameters = [arrays[id(one.array)] for one in program.held if one.origin == "parameter"]
        self.shapes = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin == "parameter"}
        self.buffers = {one.names[0]: tuple(one.array.shape) for one in program.held if one.origin != "parameter"}
        self.size = sum(int(array.size) for array in self._parameters)
        program.hold(arrays)

    def cast(self, arguments: Arguments) -> Arguments:
        """Return arguments with floating-point arrays in float64."""

        def wide(tree: Any) -> Any:
            if isinstance(tree, Mapping):
                return {name: wide(value) for name, value in tree.items()}
            if isinstance(tree, list | tuple):
                return type(tree)(wide(value) for value in tree)
            return tree.astype(np.float64) if is_array(tree) and is_floating(np.asarray(tree).dtype) else tree

        return tuple(wide(one) for one in arguments[0]), {name: wide(one) for name, one in arguments[1].items()}

    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return whatever the model returns."""
        with np.errstate(all="ignore"):
            self._returned = self.model.run(positional, keywords)
        return self._returned

    def look_for_gradients(self, arguments: Arguments) -> None:
        """Find the parameters whose gradients the model's backward pass leaves, by making both passes."""
        if self._backward is None:
            return
        not_judged = f"its method {self._backward.method} is not judged"
        try:
            result = result_in(self.call(*arguments))
            if result is None:
                return
            cotangent = np.asarray(np.random.default_rng(0).normal(size=result.shape))
            found = tuple(gradients_by(self._held, self.model.root, self._back(cotangent)))
            if not found:
                self.said = (f"{not_judged}: no gradient is found beside a parameter, by its name",)
                return
            self.learned = found
            self._mean_over = self._found_mean(arguments, cotangent)
        except Exception as error:
            self.learned, self.said = (), (f"{not_judged}: it raises {describe(error)}",)
            return
        if self._mean_over:
            self.said = (f"its gradients are means over {'samples' if self._mean_over == 1 else 'positions'}",)

    def _found_mean(self, arguments: Arguments, cotangent: Array) -> int:
        """Return over how many axes all gradients are means, as those of a mean loss are; 0 where they are sums."""

        def result() -> Array:
            return cast("Array", result_in(self.call(*arguments)))

        along, step = self.gradients(result, cotangent), STEPS[self.dtype]
        ratios = []
        for place, derivative in enumerate(along):
            values = []
            for by in (step, -step):
                with self.moved((place,), by):
                    values.append(float((result() * cotangent).sum()))
            ratios.append((values[0] - values[1]) / (2 * step) / derivative if derivative else 1.0)
        for axes in (1, 2):
            number = math.prod(cotangent.shape[:axes])
            if number > 1 and cotangent.ndim > axes and np.allclose(ratios, number, rtol=_NEAR):
                return axes
        return 0

    def differentiated(self, result: Callable[[], Any], cotangent: Any) -> list[Any]:
        """Go back by the model's own backward pass."""
        left = self._gone_back(result, cotangent)
        found = gradients_by({name: self._held[name] for name in self.learned}, self.model.root, left)
        number = math.prod(np.shape(cotangent)[: self._mean_over])
        return [found[name] * number if name in found else None for name in self.learned]

    def differentiated_by_input(self, result: Callable[[Any], Any], inputs: Any, cotangent: Any) -> Any:
        """Go back by the model's own backward pass, as far as the inputs."""
        left = self._gone_back(lambda: result(inputs), cotangent)
        return gradient_of_input(left, np.shape(inputs))

    def _gone_back(self, result: Callable[[], Any], cotangent: Any) -> Any:
        if self._backward is None:
            raise self._not_differentiable()
        # Gradients that are added to what is there begin anew.
        for gradient in gradients_by(self._held, self.model.root, None).values():
            if gradient.flags.writeable:
                gradient[...] = 0.0
        result()
        returned = result_in(self._returned)
        if returned is None or returned.shape != np.shape(cotangent):
            raise NotDifferentiable("its backward pass is handed another shape than its results have here")
        try:
            return self._back(cotangent)
        except Exception as error:
            raise NotDifferentiable(f"its method {self._backward.method} raises {describe(error)}") from error

    def _back(self, cotangent: Array) -> Any:
        assert self._backward is not None
        with np.errstate(all="ignore"):
            return self._backward.of(self.model.root, np.array(cotangent, dtype=np.float64), self._returned)

    @contextmanager
    def moved(self, places: Sequence[int], by: float) -> Iterator[None]:
        """Move some of the parameters in place."""
        moves = [(self.held(place), by * self.direction(place)) for place in places]
        kept = [array.copy() for array, _ in moves]
        for array, move in moves:
            np.add(array, move, out=array)
        try:
            yield
        finally:
            for (array, _), old in zip(moves, kept, strict=True):
                array[...] = old

    def held(self, place: int) -> Array:
        """Return a learned parameter."""
        return self._held[self.learned[place]]

    def direction(self, place: int) -> Array:
        """Return the numbers of a parameter in reverse; ones where all are zero."""
        array = self.held(place)
        return array.ravel()[::-1].reshape(array.shape).copy() if array.any() else np.ones_like(array)
