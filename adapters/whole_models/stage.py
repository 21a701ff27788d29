"""A model that is ready to be called again and again: in evaluation mode, on drawn weights, in float64 if it can."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.capture.captured import framework_that_runs
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.models import Model
from veriformer.adapters.capture.random_state import kept
from veriformer.adapters.errors import CaptureError, NotDifferentiable

STEPS = {"float64": 6e-6, "float32": 5e-3}
"""The step of a central difference whose truncation is about as small as its rounding: the cube root of the unit."""


class Stage(ABC):
    """A model on drawn weights; arrays of its framework go in and come out.

    `model` is the model itself, as its framework has it, whose modules may be called as well. `dtype` is that of its
    parameters while it is staged, `size` how many numbers they have. `shapes` are those of its parameters by path,
    `buffers` those of its other arrays. `called` is the object whose signature names the inputs, from the argument at
    `first_input` on.
    """

    framework: ArrayFramework
    model: Any
    dtype: str
    size: int
    shapes: Mapping[str, tuple[int, ...]]
    buffers: Mapping[str, tuple[int, ...]]
    called: Any
    first_input: int = 0
    learned: tuple[str, ...] = ()
    """The parameters that require a gradient."""
    said: tuple[str, ...] = ()
    """What is said of the model: what of it is not judged, and why."""

    @abstractmethod
    def call(self, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return whatever the model returns, without recording gradients."""

    @contextmanager
    def moved(self, places: Sequence[int], by: float) -> Iterator[None]:
        """Return a context in which some of the learned parameters are moved, each along a direction of its own.

        NotDifferentiable where the framework does not differentiate, as for the methods below.
        """
        raise self._not_differentiable()
        yield

    def differentiated(self, result: Callable[[], Any], cotangent: Any) -> list[Any]:
        """Return the gradient of ⟨cotangent, result()⟩ by each learned parameter, None where no way leads to it.

        `result` calls the model. NotDifferentiable where the framework finds no way to any parameter.
        """
        raise self._not_differentiable()

    def differentiated_by_input(self, result: Callable[[Any], Any], inputs: Any, cotangent: Any) -> Any:
        """Return the gradient of ⟨cotangent, result(inputs)⟩ by the inputs, None where no way leads to them.

        Raises as `differentiated` does.
        """
        raise self._not_differentiable()

    def held(self, place: int) -> Any:
        """Return a learned parameter."""
        raise self._not_differentiable()

    def direction(self, place: int) -> Any:
        """Return a direction of a learned parameter: its numbers in reverse; ones where all are zero."""
        raise self._not_differentiable()

    def _not_differentiable(self) -> NotDifferentiable:
        return NotDifferentiable(f"models of {self.framework.name} are not differentiated")

    def gradients(self, result: Callable[[], Any], cotangent: Any) -> list[float]:
        """Return the derivative of ⟨cotangent, result()⟩ by each learned parameter, along its direction.

        It is 0 where the framework finds no way to a parameter. Raises as `differentiated` does.
        """
        found = self.differentiated(result, cotangent)
        return [_inner(gradient, self.direction(place)) for place, gradient in enumerate(found)]

    def gradients_by_size(self, result: Callable[[], Any], cotangent: Any) -> list[tuple[float, float, float]]:
        """Return ⟨∂, w⟩, ‖∂‖ and ‖w‖ for each learned parameter w with the gradient ∂ of ⟨cotangent, result()⟩.

        No layout of a parameter changes them. Raises as `differentiated` does.
        """
        found = self.differentiated(result, cotangent)
        held = [self.held(place) for place in range(len(found))]
        return [
            (_inner(gradient, own), _inner(gradient, gradient) ** 0.5, _inner(own, own) ** 0.5)
            for gradient, own in zip(found, held, strict=True)
        ]

    @abstractmethod
    def cast(self, arguments: Arguments) -> Arguments:
        """Return arguments with floating-point arrays in the dtype of the stage."""

    @contextmanager
    def scaled(self, factor: float) -> Iterator[None]:
        """Return a context in which all parameters are multiplied by a factor."""
        raise self._not_differentiable()
        yield


@contextmanager
def staged(found: Model, arguments: Arguments, seed: int | None, dtype: str | None = None) -> Iterator[Stage]:
    """Put a model on its stage, and put everything back at the end; CaptureError where its framework has none.

    `arguments` are such as the model runs on; they tell whether it runs in float64. Without a seed the model keeps its
    own weights; with a `dtype` its parameters are rounded to that.
    """
    with kept(), found.imports(), _stage_of(found, arguments, seed, dtype) as stage:
        yield stage


def _stage_of(found: Model, arguments: Arguments, seed: int | None, dtype: str | None) -> Any:
    framework = framework_that_runs(found)
    if framework == "torch":
        from veriformer.adapters.whole_models.torch_stage import torch_stage

        return torch_stage(found.found, arguments, seed, dtype)
    if framework == "jax":
        from veriformer.adapters.whole_models.jax_stage import jax_stage

        return jax_stage(found.found, arguments, seed, dtype)
    if framework == "numpy" and dtype in (None, "float64"):
        from veriformer.adapters.whole_models.numpy_stage import numpy_stage

        return numpy_stage(found.found, arguments, seed)
    if framework == "onnx" and dtype in (None, "float64") and seed is None:
        from veriformer.adapters.whole_models.onnx_stage import onnx_stage

        return onnx_stage(found.found, arguments)
    if dtype is not None:
        raise CaptureError(f"models of {framework} are not run in {dtype}")
    raise CaptureError(f"models of {framework} are not called again")


def _inner(first: Any, second: Any) -> float:
    """Return the inner product of two arrays of a framework; 0 where there is none."""
    return 0.0 if first is None or second is None else float((first * second).sum())
