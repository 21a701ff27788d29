"""The arrays of a framework, converted from and to NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from veriformer.adapters.errors import LoadError, MissingFramework, describe, install_hint

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "mlx", "tinygrad", "cupy")
# What is imported where that is not the framework's own name.
_MODULES = {"mlx": "mlx.core"}
DTYPES = ("float16", "bfloat16", "float32", "float64")
# What is installed where that is not called like the framework: the first of these.
_DISTRIBUTIONS = {
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"),
}
_TENSORS = ("torch", "tensorflow", "tinygrad")


class ArrayFramework(Protocol):
    """All that the suite needs from a framework."""

    name: str
    compiles_per_shape: bool
    differentiates: bool

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The names of the floating-point dtypes that arrays can have here and now."""

    def on(self, device: str) -> ArrayFramework:
        """Return the same framework with its arrays on `device`; LoadError where it has no such device here."""

    def missing_dtype(self, dtype: str) -> str:
        """Return the sentence that says why the framework lacks `dtype` and what to do."""

    def from_numpy(self, array: np.ndarray, dtype: str | None = None) -> Any:
        """Return a new array of the framework that shares no memory with `array`.

        Floating-point values, which must be exactly representable in `dtype`, arrive there unchanged; bool stays
        bool; integers become int64 (int32 in jax without x64), whatever `dtype` says.
        UnsupportedDtype when the framework lacks `dtype`; ValueError when a floating-point array comes without one.
        """

    def to_numpy(self, value: Any) -> np.ndarray:
        """Return a copy of the values as float64, bool or int64."""

    def overwrite(self, array: Any, values: Any) -> None:
        """Copy another array of the framework into an array, in place; nothing where arrays are immutable."""

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is an array of this framework."""

    def dtype_name(self, value: Any) -> str:
        """Return the name of an array's dtype."""

    def strided(self, array: Any) -> Any:
        """Return the same values, seen through a transposed view of every second element of a larger buffer.

        The elements between hold NaN (or the opposite truth value, or −1), so that an operation that reads the
        memory instead of the array meets them. An array of rank 0 or without elements is returned as it is,
        and so is every array of a framework without strides.
        """

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call an operation as its users do, wait for the result, and detach it from the recorded graph."""

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Return the gradients of ⟨cotangents, function(*arguments)⟩ by some arguments, by automatic differentiation.

        A function with several results has a cotangent for each. `differentiated` are the places of these arguments;
        the others may be integers. An argument that no result depends on has the gradient zero. NotDifferentiable when
        the results are detached from all of them, have other shapes than the cotangents or are not as many, or the
        framework does not differentiate.
        """

    def use_one_thread(self) -> None:
        """Restrict the framework to one thread if possible; more only cost time for small arrays."""


def framework(name: str) -> ArrayFramework:
    """Return the framework called `name`, importing it now.

    MissingFramework when it is not installed; LoadError when it is installed but cannot be imported; ValueError for a
    name that is not in FRAMEWORKS.
    """
    if name not in FRAMEWORKS:
        raise ValueError(f"{name!r} is not a framework; the frameworks are {', '.join(FRAMEWORKS)}")
    import_package(name)
    arrays: ArrayFramework = import_module(f"veriformer.adapters.{name}_arrays").FRAMEWORK
    return arrays


def noun(name: str) -> str:
    """Return what an array of a framework is called: "torch tensor", "jax array"."""
    return f"{name} {'tensor' if name in _TENSORS else 'array'}"


def version_of(name: str) -> str:
    """Return the version of a framework, or of another package, as installed; empty where it is not."""
    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        with suppress(PackageNotFoundError, ValueError):
            return version(distribution)
    return ""


def import_package(name: str) -> None:
    """Import a library; MissingFramework when it is not installed, LoadError when it cannot be imported."""
    try:
        import_module(_MODULES.get(name, name))
    except ModuleNotFoundError as error:
        if error.name in (name, _MODULES.get(name)):
            raise MissingFramework(name) from error
        raise LoadError(_broken(name, error)) from error
    except Exception as error:
        raise LoadError(_broken(name, error)) from error


def _broken(name: str, error: Exception) -> str:
    return f"{name} is installed but cannot be imported ({describe(error)}); install it again: {install_hint(name)}"
