"""What may be drawn for an operation of an implementation."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.adapters.model_declarations import BlackBox
from veriformer.conformance_tests.cases import choices

# Float16 holds logits up to 65504; larger amplitudes would ask of it what no kernel can give.
LARGEST_AMPLITUDE = {"float16": 8, "bfloat16": 100, "float32": 100, "float64": 100}
SEEDS = choices.integers(0, 2**16)


@dataclass(frozen=True)
class Limits:
    """What may be drawn for an operation of an implementation.

    Sizes are chosen by `seed`. `compiles_per_shape` takes them from the first `pool` entries of a pool; `small`
    overrides both and draws the smallest sizes only, to find a counterexample that can be read.
    `causal_excludes_mask` keeps the causal flag away from masks and biases, `bias_excludes_mask` these two apart.
    `architectures` are those that the implementation has of an operation on whole models, `black_box` is
    what its `model` takes; without `left_padding` their padding stands on the right.
    """

    operation: str
    dtypes: tuple[str, ...]
    features: frozenset[str]
    architectures: tuple[str, ...] = ()
    black_box: BlackBox | None = None
    left_padding: bool = True
    equal_widths: bool = False
    causal_excludes_mask: bool = False
    bias_excludes_mask: bool = False
    compiles_per_shape: bool = False
    pool: int = 2
    small: bool = False
    seed: int = 0
