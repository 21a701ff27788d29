"""JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from veriformer.adapters.arrays import DTYPES
from veriformer.adapters.cotangents import require_shapes, results_of
from veriformer.adapters.errors import DifferentiationRefused, LoadError, describe
from veriformer.adapters.numpy_arrays import checked_dtype, simple_kind


class JaxArrays:
    """JAX's arrays on one device; float64 and int64 exist only where the implementation or the user has x64 on."""

    name = "jax"
    compiles_per_shape = True
    differentiates = True

    def __init__(self, device: Any = None) -> None:
        self.device = device

    @property
    def dtypes(self) -> tuple[str, ...]:
        """float16, bfloat16 and float32, and float64 when x64 is on."""
        return DTYPES if _has_x64() else tuple(name for name in DTYPES if name != "float64")

    def on(self, device: str) -> JaxArrays:
        """Return the arrays of the first device of a platform ("cpu", "gpu"); LoadError where there is none."""
        try:
            return JaxArrays(jax.devices(device)[0])
        except RuntimeError as error:
            raise LoadError(f"jax has no device {device!r} here ({describe(error)})") from error

    def missing_dtype(self, dtype: str) -> str:
        """Return why jax lacks `dtype`."""
        if dtype == "float64":
            return (
                "jax has float64 only with x64: set JAX_ENABLE_X64=1, "
                'or call jax.config.update("jax_enable_x64", True) where the implementation is imported'
            )
        return f"jax has no {dtype} here; its dtypes are {', '.join(self.dtypes)}"

    def from_numpy(self, array: np.ndarray, dtype: str | None = None) -> Any:
        """Return a new array in `dtype`, bool, or int64 (int32 without x64)."""
        kind = simple_kind(array)
        if kind == "float":
            target: Any = jnp.dtype(checked_dtype(dtype, self.dtypes, self.missing_dtype))
        elif kind == "int":
            target = np.dtype("int64" if _has_x64() else "int32")
        else:
            target = np.dtype("bool")
        # jax may keep the very memory it is given, so the copy is made here.
        # device_put, because asarray compiles a copy for every new shape.
        return jax.device_put(np.array(array, dtype=target, order="C", copy=True), self.device)

    def to_numpy(self, value: Any) -> np.ndarray:
        """Return a copy as float64, bool or int64."""
        target = np.int64 if jnp.issubdtype(value.dtype, jnp.integer) else np.float64
        return np.asarray(value).astype(np.bool_ if value.dtype == np.bool_ else target, order="C", copy=True)

    def overwrite(self, array: Any, values: Any) -> None:
        """Do nothing: JAX's arrays do not change."""

    def is_array(self, value: Any) -> bool:
        """Return whether `value` is a jax array."""
        return isinstance(value, jax.Array)

    def dtype_name(self, value: Any) -> str:
        """Return the dtype's name."""
        return str(value.dtype.name)

    def strided(self, array: Any) -> Any:
        """Return the array as it is: jax shows no strides."""
        return array

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call and wait, so that what goes wrong in the computation is raised here."""
        return jax.block_until_ready(function(*positional, **keywords))

    def vector_jacobian_product(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cotangents: tuple[Any, ...],
        differentiated: tuple[int, ...],
    ) -> tuple[Any, ...]:
        """Go back with jax.vjp, in one compiled function where the forward pass is one.

        Any other is not compiled as a whole: if it keeps a constant for later calls, it would keep a tracer instead.
        """
        if not isinstance(function, partial) or not hasattr(function.func, "lower") or function.args:
            return _go_back(function, arguments, cotangents, differentiated)
        arrays = {name: value for name, value in function.keywords.items() if isinstance(value, jax.Array)}
        others = tuple(item for item in function.keywords.items() if item[0] not in arrays)
        return tuple(_compiled_way_back(function.func, others, differentiated)(arrays, arguments, cotangents))

    def use_one_thread(self) -> None:
        """Do nothing: jax's threads are fixed when its backend starts."""


def _go_back(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    cotangents: tuple[Any, ...],
    differentiated: tuple[int, ...],
) -> tuple[Any, ...]:
    def of_differentiated(*chosen: Any) -> Any:
        of_place = dict(zip(differentiated, chosen, strict=True))
        returned = function(*(of_place.get(place, argument) for place, argument in enumerate(arguments)))
        return results_of(returned, cotangents)

    try:
        results, backward = jax.vjp(of_differentiated, *(arguments[place] for place in differentiated))
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise DifferentiationRefused(
            "the forward pass takes arrays out of JAX, or decides by their values: JAX cannot differentiate it"
        ) from error
    require_shapes(results, cotangents)
    return tuple(
        backward(tuple(cotangent.astype(result.dtype) for result, cotangent in zip(results, cotangents, strict=True)))
    )


@lru_cache(maxsize=64)
def _compiled_way_back(
    function: Callable[..., Any], others: tuple[tuple[str, Any], ...], differentiated: tuple[int, ...]
) -> Callable[..., Any]:
    """Return the compiled backward pass of a compiled function; `others` are its keywords that are no arrays."""
    keywords = dict(others)

    def way_back(arrays: dict[str, Any], arguments: tuple[Any, ...], cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
        return _go_back(partial(function, **keywords, **arrays), arguments, cotangents, differentiated)

    # Optimised machine code takes twice as long to make, for arrays that are small and called with a few times.
    compiled: Callable[..., Any] = jax.jit(way_back, compiler_options={"xla_backend_optimization_level": 0})
    return compiled


def _has_x64() -> bool:
    return bool(jax.dtypes.canonicalize_dtype(np.float64) == np.float64)


FRAMEWORK = JaxArrays()
