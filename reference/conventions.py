"""The conventions that the reference can follow, each a type whose values are the valid ones."""

from __future__ import annotations

from typing import Literal

CausalAlignment = Literal["top_left", "bottom_right"]
EmptyRow = Literal["zeros", "nan", "mean_of_values"]
WindowCounting = Literal["inclusive", "exclusive"]
RotaryPairing = Literal["interleaved", "half"]
SinusoidalLayout = Literal["interleaved", "concatenated"]
EpsPlacement = Literal["inside_root", "outside_root"]
RmsNormGain = Literal["gamma", "one_plus_gamma"]
GeluForm = Literal["erf", "tanh", "sigmoid"]
Activation = Literal["relu", "gelu", "silu"]
AdamWEps = Literal["after_correction", "before_correction"]
AdamWDecay = Literal["times_learning_rate", "apart"]
DecayedWeights = Literal["all", "matrices", "matrices_without_embeddings", "all_without_embeddings"]
ClipNormEps = Literal["none", "1e-6"]
WarmupStart = Literal["zero", "first_share"]
InitialDeviation = Literal["fan_in", "fan_in_and_out", "packed_fan_in_and_out", "third_of_fan_in", "fixed"]
InitialResidual = Literal["unscaled", "by_depth", "by_layer"]
InitialBias = Literal["zero", "uniform"]
