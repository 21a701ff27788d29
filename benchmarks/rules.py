"""Rules by which projects decide whether a result is right, on the same result, compared with the exact one.

Each returns by how much the rule is exceeded: the largest error as a multiple of what the rule allows. Above one the
rule speaks of a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

Array = np.ndarray


@dataclass(frozen=True)
class Result:
    """What came beside what is exact; `naive` is what torch computes step by step in the same dtype, if it can."""

    dtype: str
    expected: Array
    actual: Array
    naive: Array | None


Rule = Callable[[Result], float]

_ASSERT_CLOSE = {"float32": (1.3e-6, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float16": (1e-3, 1e-5)}
_HUGGING_FACE = {"float32": (1e-4, 1e-6), "bfloat16": (1e-2, 1e-2), "float16": (5e-3, 5e-3)}


def exceeded(error: Array, allowed: Array) -> float:
    """Return the largest error as a multiple of what is allowed: infinite where it is no number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0.0, 0.0, error / allowed)
    return float(np.max(np.where(np.isnan(ratio), np.inf, ratio), initial=0.0))


def tolerances(table: Mapping[str, tuple[float, float]]) -> Rule:
    """Return the rule |actual − expected| ≤ atol + rtol |expected|, from (rtol, atol) of each dtype."""

    def rule(result: Result) -> float:
        rtol, atol = table[result.dtype]
        return exceeded(np.abs(result.actual - result.expected), atol + rtol * np.abs(result.expected))

    return rule


def twice_the_naive_error(result: Result) -> float:
    """FlashAttention's: max |error| ≤ 2 max |error of the naive| + 2 max |(expected + 0.3 − 0.3) − expected|."""
    if result.naive is None:
        return 0.0
    expected = torch.from_numpy(result.expected).to(getattr(torch, result.dtype))
    rounding = (expected + 0.3 - 0.3 - expected).abs().max().item()
    naive = np.max(np.abs(result.naive - result.expected), initial=0.0)
    error = np.max(np.abs(result.actual - result.expected), initial=0.0)
    return exceeded(np.asarray(error), np.asarray(2.0 * naive + 2.0 * rounding))


def _same(rtol: float, atol: float) -> dict[str, tuple[float, float]]:
    return dict.fromkeys(("float32", "bfloat16", "float16"), (rtol, atol))


# torch.testing.assert_close's defaults; onnx.backend.test's; a popular choice; what transformers compares its eager
# attention with sdpa by, on the CPU; and flash_attn's tests of its forward pass.
RULES: Mapping[str, Rule] = {
    "assert_close": tolerances(_ASSERT_CLOSE),
    "ONNX": tolerances(_same(1e-3, 1e-7)),
    "atol 1e-3": tolerances(_same(0.0, 1e-3)),
    "Hugging Face": tolerances(_HUGGING_FACE),
    "FlashAttention": twice_the_naive_error,
}
