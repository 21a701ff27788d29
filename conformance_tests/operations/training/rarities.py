"""Rarities of training steps."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity

# Twenty steps whose rate is halved twice on the way.
_TWENTY = {"learning_rates": tuple(0.125 / 2 ** (step // 8) for step in range(20)), "adam_eps": 0.01}
TRAINING = (
    # A decay that shows which weights it takes from, biases among them.
    Rarity(("first_step",), {"weight_decay": 0.5, "architecture": "gpt"}),
    Rarity(("later_step",), {"learning_rates": (*((0.0,) * 4), 0.125)}),
    Rarity(("every_step",), _TWENTY, reach=1),
)
