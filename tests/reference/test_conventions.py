from __future__ import annotations

from typing import get_args

import pytest
from veriformer.reference import conventions
from veriformer.spec.conventions import CONVENTIONS


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("causal_alignment", conventions.CausalAlignment),
        ("empty_row", conventions.EmptyRow),
        ("rotary_pairing", conventions.RotaryPairing),
        ("sinusoidal_layout", conventions.SinusoidalLayout),
        ("layer_norm_eps", conventions.EpsPlacement),
        ("rms_norm_gain", conventions.RmsNormGain),
        ("gelu_form", conventions.GeluForm),
        ("decayed_weights", conventions.DecayedWeights),
        ("clip_norm_eps", conventions.ClipNormEps),
        ("warmup_start", conventions.WarmupStart),
    ],
)
def test_the_reference_can_follow_every_value_that_the_specification_names(name, choices):
    assert get_args(choices) == CONVENTIONS[name].value_names
