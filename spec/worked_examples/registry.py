"""All worked examples, in the order of the documents."""

from __future__ import annotations

from veriformer.spec.worked_examples import (
    gradients,
    seed_000_attention,
    seed_000_masks,
    seed_000_padding,
    seed_000_practice,
    seed_000_shapes,
    seed_000_traces,
    seed_000_training,
    seed_001_cat,
    seed_001_masks,
    seed_001_positions,
    seed_001_traces,
    seed_002_attention,
    seed_002_functions,
    seed_002_numbers,
    seed_002_shapes,
    seed_002_traces,
    seed_002_training,
    seed_003,
    seed_003_traces,
    seed_004,
    seed_004_layers,
    seed_004_traces,
    seed_004_training,
    training,
)
from veriformer.spec.worked_examples.example import WorkedExample

_MODULES = (
    seed_000_attention,
    seed_000_practice,
    seed_000_shapes,
    seed_000_traces,
    seed_000_masks,
    seed_000_padding,
    seed_000_training,
    seed_001_cat,
    seed_001_masks,
    seed_001_positions,
    seed_001_traces,
    seed_002_attention,
    seed_002_functions,
    seed_002_numbers,
    seed_002_shapes,
    seed_002_traces,
    seed_002_training,
    seed_003,
    seed_003_traces,
    seed_004,
    seed_004_layers,
    seed_004_traces,
    seed_004_training,
    gradients,
    training,
)

WORKED_EXAMPLES: tuple[WorkedExample, ...] = tuple(example for module in _MODULES for example in module.EXAMPLES)
