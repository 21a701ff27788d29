"""Regions of schedules of the learning rate."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.region import among

REGIONS = (
    *among(
        ("warmup_cosine_learning_rate",),
        ("step of the warm-up", "The rate still rises.", lambda c: 0 < c.step < c.warmup_steps),
        ("first step of a warm-up", "The rate is 0, or a share of the peak.", lambda c: c.step == 0 < c.warmup_steps),
        ("end of the warm-up", "The rate is the peak.", lambda c: c.step == c.warmup_steps > 0),
        ("no warm-up", "The cosine begins at step 0.", lambda c: c.warmup_steps == 0),
        ("step of the cosine", "The rate falls.", lambda c: c.warmup_steps < c.step < c.total_steps),
        (
            "step of a cosine after a warm-up",
            "Its steps are not those of the run.",
            lambda c: 0 < c.warmup_steps < c.step < c.total_steps,
        ),
        (
            "step of the cosine off its middle",
            "A straight line, or another period, has another rate.",
            lambda c: c.warmup_steps < c.step < c.total_steps and 2 * c.step != c.warmup_steps + c.total_steps,
        ),
        ("end of the cosine", "The rate is the least one.", lambda c: c.step == c.total_steps),
        ("step after the end", "The rate stays.", lambda c: c.step > c.total_steps),
        ("least rate above zero", "The cosine does not end at 0.", lambda c: c.least > 0.0),
    ),
    *among(
        ("warmup_inverse_root_learning_rate",),
        ("step before the root", "The rate still rises.", lambda c: c.step < c.warmup_steps),
        ("step after the rise", "The rate falls.", lambda c: c.step > c.warmup_steps),
        ("where rise and root meet", "The rate is largest.", lambda c: c.step == c.warmup_steps),
        ("model wider than one", "The root of the width matters.", lambda c: c.d_model > 1),
    ),
)
