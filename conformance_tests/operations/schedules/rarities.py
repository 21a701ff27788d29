"""Rarities of schedules of the learning rate."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity
from veriformer.conformance_tests.operations.every.rarities import VALUE

COSINE = (
    *(Rarity(VALUE, {"step": step, "total_steps": 1000003}) for step in (0, 500, 1000, 1001, 500501, 1000002, 2000000)),
    *(Rarity(VALUE, {"step": 1500, "peak": peak, "least": 0.5 * peak}) for peak in (1e-8, 0.1, 100.0)),
    Rarity(VALUE, {"step": 1500, "least": 1.0}),
    Rarity(VALUE, {"step": 0, "warmup_steps": 0, "total_steps": 1}),
    Rarity(VALUE, {"step": 1, "warmup_steps": 0, "total_steps": 1}),
)
ROOT = (
    *(Rarity(VALUE, {"step": step}) for step in (1, 3999, 4000, 4001, 100000, 1000000)),
    *(Rarity(VALUE, {"d_model": width}) for width in (1, 7, 1000, 12288, 65536)),
    *(Rarity(VALUE, {"warmup_steps": steps}) for steps in (1, 16000, 100000)),
)
