"""Whether a model in float64 still rounds parts of itself to float32.

Such a model is not what its author runs: a mask of the least number of float64 becomes minus infinity where logits are
cast to float32. It is called in its own precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.outputs import named_arrays
from veriformer.adapters.whole_models.stage import Stage

# Changes of the parameters that are far above the roundings of float64; the smaller one is below those of float32.
_SMALL, _LARGE = 1e-9, 1e-7
# How far from proportional the changes of a smooth function may be.
_SLACK = 0.05
# A change that the roundings of float64 make, divided by the smaller step, is far below this share of a result.
_FLOOR = 0.01


def rounds_to_single(stage: Stage, arguments: Arguments) -> bool:
    """Return whether the results of a model that is staged in float64 have the roundings of float32.

    The results of a smooth function change in proportion to a small change of its parameters, and of its inputs. Where
    something is rounded to float32, a change below its roundings changes single numbers by whole ones, or none.
    """
    before = _results(stage, arguments)

    def of_parameters(step: float) -> list[np.ndarray]:
        with stage.scaled(1 + step):
            return _results(stage, arguments)

    def of_inputs(step: float) -> list[np.ndarray]:
        return _results(stage, _scaled(stage, arguments, 1 + step))

    return any(_jumps(before, changed) for changed in (of_parameters, of_inputs))


def _jumps(before: list[np.ndarray], changed: Callable[[float], list[np.ndarray]]) -> bool:
    """Return whether results change by other than what is in proportion to a step."""
    small, large = (
        [(now - was) / step for now, was in zip(changed(step), before, strict=True)] for step in (_SMALL, _LARGE)
    )
    return any(
        np.abs(one - other).max(initial=0.0)
        > max(_SLACK * np.abs(other).max(initial=0.0), _FLOOR * np.abs(was).max(initial=0.0))
        for one, other, was in zip(small, large, before, strict=True)
    )


def _scaled(stage: Stage, arguments: Arguments, factor: float) -> Arguments:
    """Return arguments whose arrays of floating-point numbers are multiplied by a factor."""

    def scaled(value: Any) -> Any:
        is_floating = stage.framework.is_array(value) and "float" in stage.framework.dtype_name(value)
        return value * factor if is_floating else value

    return tuple(map(scaled, arguments[0])), {name: scaled(value) for name, value in arguments[1].items()}


def _results(stage: Stage, arguments: Arguments) -> list[np.ndarray]:
    arrays = [array for _, array in named_arrays(stage.call(*arguments), stage.framework.is_array)]
    floating = [array for array in arrays if "float" in stage.framework.dtype_name(array)]
    return [stage.framework.to_numpy(array) for array in floating]
