"""A float64 pass of a torch module that is written in single precision: casts to float32 are no casts down.

`x.float()` does nothing in a float32 model, and lifts a bfloat16 one. Norms have it before their squares, as Llama's.
Beside float64 parameters it would cost half of the digits, for no reason that the model's author had, as
adapters/capture/jax_widening.py does for JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}


class _Widened(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Lets functions of torch make float64 wherever they are asked for float32."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.float:
            return args[0].double()
        return func(*map(_wider, args), **{name: _wider(one) for name, one in (kwargs or {}).items()})


def _wider(value: Any) -> Any:
    return _WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def widened(dtype: str = "float64") -> AbstractContextManager[Any]:
    """Return a context in which casts to float32 are casts to float64; one without effect for another dtype."""
    return _Widened() if dtype == "float64" else nullcontext()
