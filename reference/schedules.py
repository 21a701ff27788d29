"""Schedules of the learning rate: a rise, then half a cosine or an inverse root."""

from __future__ import annotations

import math

from veriformer.reference.checks import require_choice, require_count
from veriformer.reference.conventions import WarmupStart


def warmup_cosine_learning_rate(
    step: int,
    *,
    peak: float,
    least: float,
    warmup_steps: int,
    total_steps: int,
    warmup_start: WarmupStart = "zero",
) -> float:
    """Raise the learning rate in a straight line, then lower it along half a cosine.

    η = peak · t/W for t < W,  least + (peak − least) (1 + cos(π (t − W)/(T − W)))/2 for W ≤ t ≤ T,  least after T

    The cosine begins at 1 and ends at −1, so that the rate is the peak at step W and the least one at step T.

    Shapes: numbers to a number.
    Raises: ValueError when a step or warmup_steps is negative, total_steps is not above warmup_steps, or the rates do
    not obey 0 ≤ least ≤ peak, 0 < peak.
    Source: Loshchilov & Hutter 2017 (SGDR), equation 5; Goyal et al. 2017, section 2.2 (warm-up).
    Conventions: warmup_start (nanoGPT begins at peak/(W + 1) and not at 0).
    """
    require_count("step", step, 0)
    require_count("warmup_steps", warmup_steps, 0)
    require_count("total_steps", total_steps, warmup_steps + 1)
    require_choice("warmup_start", warmup_start, WarmupStart)
    if not (peak > 0.0 and 0.0 <= least <= peak):
        raise ValueError(
            f"the rates must obey 0 <= least <= peak and 0 < peak; got least = {least} and peak = {peak}; "
            "pass the largest rate as peak"
        )
    if step < warmup_steps:
        before = 1 if warmup_start == "first_share" else 0
        return peak * ((step + before) / (warmup_steps + before))
    if step > total_steps:
        return float(least)
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return least + (peak - least) * (0.5 * (1.0 + math.cos(math.pi * progress)))


def warmup_inverse_root_learning_rate(step: int, *, d_model: int, warmup_steps: int) -> float:
    """Raise the learning rate in a straight line, then lower it as the inverse root of the step.

    η = E^(−1/2) · min(t^(−1/2), t · W^(−3/2))

    The two meet at step W, where the rate is largest: (E W)^(−1/2).

    Shapes: numbers to a number.
    Raises: ValueError when the step, counted from 1, the width or warmup_steps is below 1.
    Source: Vaswani et al. 2017, section 5.3.
    """
    require_count("step", step, 1)
    require_count("d_model", d_model, 1)
    require_count("warmup_steps", warmup_steps, 1)
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))
