"""The weights with which a model starts."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Float64
from veriformer.reference.checks import require_choice, require_count
from veriformer.reference.configuration import TransformerConfiguration
from veriformer.reference.conventions import InitialBias, InitialDeviation, InitialResidual
from veriformer.reference.model_weights import TransformerWeights, weight_tree

FIXED_DEVIATION = 0.02
# The projections that write into the residual stream.
RESIDUAL_WEIGHTS = ("w_o", "w_2", "w_down")
_OF_QUERIES_KEYS_VALUES = ("w_q", "w_k", "w_v")


def initial_weights(
    config: TransformerConfiguration,
    *,
    seed: int,
    initial_deviation: InitialDeviation = "fan_in",
    initial_residual: InitialResidual = "unscaled",
    initial_bias: InitialBias = "zero",
) -> TransformerWeights:
    """Draw the weights with which a language model, or an encoder ("bert"), starts.

    Gains are 1 and shifts 0. Entries of projections are normal, of mean 0 and the variance of `initial_variance`;
    entries of the tables of embeddings and positions have the variance 1/E.

    Shapes: those of `TransformerWeights`.
    Raises: ValueError when the seed is no integer from 0 on, a convention's value is unknown, or the architecture is
    that of an encoder-decoder.
    Source: LeCun et al. 1998 (Efficient BackProp), section 4.6 (1/n_in); Radford et al. 2019, section 2.3 (residual).
    Conventions: see `initial_variance`; biases are zero, or uniform in ±1/√n_in as torch.nn.Linear's.
    """
    require_count("seed", seed, 0)
    require_choice("initial_bias", initial_bias, InitialBias)
    if config.architecture in ("vaswani", "bart"):
        raise ValueError(
            f"initial_weights is of language models and encoders; got the architecture {config.architecture!r}; "
            "configure 'gpt', 'llama' or 'bert'"
        )
    generator, layers = np.random.default_rng(seed), Counter[str]()

    def make(name: str, shape: tuple[int, ...]) -> Float64[Array, "*shape"]:
        if name in ("gamma", "beta"):
            return np.full(shape, 1.0 if name == "gamma" else 0.0)
        if name.startswith("b_"):
            bound = 1.0 / sqrt(bias_inputs(name, config)) if initial_bias == "uniform" else 0.0
            return generator.uniform(-bound, bound, shape) if bound else np.zeros(shape)
        if name in ("embedding", "positions"):
            return generator.normal(0.0, config.d_model**-0.5, shape)
        # Each layer has one projection of a name, and layers are made in their order.
        layers[name] += 1
        chosen: Any = {"initial_deviation": initial_deviation, "initial_residual": initial_residual}
        variance = initial_variance(name, shape, config, layer=layers[name] - 1, **chosen)
        return generator.normal(0.0, sqrt(variance), shape)

    weights: Any = weight_tree(config, make)
    drawn: TransformerWeights = weights
    return drawn


def initial_variance(
    name: str,
    shape: tuple[int, ...],
    config: TransformerConfiguration,
    *,
    layer: int = 0,
    initial_deviation: InitialDeviation = "fan_in",
    initial_residual: InitialResidual = "unscaled",
) -> float:
    """Return the variance of the entries of a projection (n_in, n_out), by its name: w_q, …, w_down, unembedding.

    fan_in                 1/n_in
    fan_in_and_out         2/(n_in + n_out)
    packed_fan_in_and_out  the same, where W_Q, W_K and W_V are one matrix, whose n_out is the sum of theirs
    third_of_fan_in        1/(3 n_in)
    fixed                  0.02²

    By depth, what is added to the residual stream has 1/(2N) of it: W_O and the last matrix of a network, of N layers.
    By layer it has 1/(2(l + 1)) in `layer` l, counted from 0.

    Shapes: none.
    Raises: ValueError when a convention's value is unknown.
    Source: LeCun et al. 1998 (Efficient BackProp), section 4.6; Glorot & Bengio 2010, equation 12; Radford et al. 2018,
    section 4.1 (0.02); Radford et al. 2019, section 2.3 (by depth); allenai/OLMo, the rule "mitchell" (by layer).
    Conventions: initial_deviation, initial_residual.
    """
    require_choice("initial_deviation", initial_deviation, InitialDeviation)
    require_choice("initial_residual", initial_residual, InitialResidual)
    inputs, outputs = shape
    if initial_deviation == "packed_fan_in_and_out" and name in _OF_QUERIES_KEYS_VALUES:
        outputs = config.d_model + 2 * (config.d_model // config.num_heads) * config.num_kv_heads
    variances = {
        "fan_in": 1.0 / inputs,
        "fan_in_and_out": 2.0 / (inputs + outputs),
        "packed_fan_in_and_out": 2.0 / (inputs + outputs),
        "third_of_fan_in": 1.0 / (3.0 * inputs),
        "fixed": FIXED_DEVIATION**2,
    }
    branches = {"unscaled": 1.0, "by_depth": 2.0 * config.num_layers, "by_layer": 2.0 * (layer + 1)}
    return variances[initial_deviation] / (branches[initial_residual] if name in RESIDUAL_WEIGHTS else 1.0)


def bias_inputs(name: str, config: TransformerConfiguration) -> int:
    """Return n_in of the projection that a bias belongs to, by its name: b_q, b_k, b_v, b_o, b_1 or b_2.

    Shapes: none.
    Raises: nothing.
    Source: torch.nn.Linear, whose bias is uniform in ±1/√n_in.
    """
    return config.d_ff if name == "b_2" else config.d_model
