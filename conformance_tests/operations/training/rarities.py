"""Rarities of training steps."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity

_LAST, _EVERY = ("later_step",), ("every_step",)
_LATE = {"learning_rates": (*((0.0,) * 4), 0.125)}
TRAINING = (
    Rarity(_LAST, _LATE),
    Rarity(
        _EVERY, {"learning_rates": tuple(0.125 / 2 ** (step // 8) for step in range(20)), "adam_eps": 0.01}, reach=1
    ),
)
