"""Regions of training steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.region import Region, among

_TRAINING = ("training_steps",)


def _uneven(given: Any) -> bool:
    if given.ignore_index is None or given.micro_batches is None:
        return False
    counts = np.sum(given.tokens[:, :, 1:] != given.ignore_index, axis=2)
    return bool((counts != counts[:, :1]).any())


REGIONS = (
    *among(
        _TRAINING,
        ("one step of training", "The moments are still zero.", lambda c: len(c.learning_rates) == 1),
        ("several steps of training", "Moments stay from step to step.", lambda c: len(c.learning_rates) > 1),
        ("training with decay", "Weights decay.", lambda c: c.weight_decay > 0.0),
        (
            "training with decay of biases",
            "Weights decay, and some of them are biases.",
            lambda c: c.weight_decay > 0.0 and c.architecture == "gpt",
        ),
        ("training with ignored tokens", "Some tokens are no targets.", lambda c: c.ignoring),
        ("training in parts", "A batch is processed one sample at a time.", lambda c: c.in_parts and c.batch > 1),
    ),
    Region("parts with unequal numbers of targets", "A mean of means is not the mean.", _TRAINING, inputs=_uneven),
)
