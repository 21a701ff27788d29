"""Whether a model in float64 still rounds parts of itself to float32.

Such a model is not what its author runs: a mask of the least number of float64 becomes minus infinity where logits are
cast to float32. It is called in its own precision.
"""

from __future__ import annotations

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.whole_models.outputs import named_arrays
from veriformer.adapters.whole_models.stage import Stage

# Changes of the parameters that are far above the roundings of float64; the smaller one is below those of float32.
_SMALL, _LARGE = 1e-9, 1e-7
# How far from proportional the changes of a smooth function may be.
_SLACK = 0.05


def rounds_to_single(stage: Stage, arguments: Arguments) -> bool:
    """Return whether the results of a model that is staged in float64 have the roundings of float32.

    The results of a smooth function change in proportion to a small change of its parameters. Where something is
    rounded to float32, a change below its roundings changes single numbers by whole ones, or none.
    """
    before = _results(stage, arguments)
    changes = []
    for step in (_SMALL, _LARGE):
        with stage.scaled(1 + step):
            changes.append([(now - was) / step for now, was in zip(_results(stage, arguments), before, strict=True)])
    return any(
        np.abs(small - large).max(initial=0.0) > _SLACK * np.abs(large).max(initial=0.0)
        for small, large in zip(*changes, strict=True)
    )


def _results(stage: Stage, arguments: Arguments) -> list[np.ndarray]:
    arrays = [array for _, array in named_arrays(stage.call(*arguments), stage.framework.is_array)]
    floating = [array for array in arrays if "float" in stage.framework.dtype_name(array)]
    return [stage.framework.to_numpy(array) for array in floating]
