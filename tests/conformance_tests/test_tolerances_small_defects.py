"""Bounds of composed gradients, of losses and of training: a small part of a mistake is outside them.

Each part is twice the one that is as large as the bound in the median of the drawn cases, so that a bound that is more
than twice as wide is noticed. What correct programs need is tried elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.diagnosis.calls import ample_space
from veriformer.conformance_tests.diagnosis.observation import arguments_of
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.cases import cases
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.spec.operations import OPERATIONS

CASES = 30


class Defect(NamedTuple):
    """An option of an operation's family, and which part of what it changes is outside the bound at the median."""

    operation: str
    decision: str
    option: str
    part: float
    dtype: str = "float32"


FORGOTTEN = "residual_gradient_forgotten"
DEFECTS = (
    Defect("attention_weights_backward", "gradient_of_logits", "softmax_row_term_forgotten", 3.6e-5),
    Defect("attention_weights_backward", "gradient_of_logits", "softmax_row_term_forgotten", 0.25, "bfloat16"),
    Defect("merge_attention_backward", "by_weights", "merge_backward_weights_detached", 2.1e-5),
    Defect("merge_attention_backward", "by_logarithm", "lse_gradient_ignored", 5e-5),
    Defect("next_token_loss", "shift", "labels_not_shifted", 1e-5),
    Defect("next_token_loss", "shift", "labels_not_shifted", 0.65, "bfloat16"),
    Defect("next_token_loss_backward", "difference", "cross_entropy_gradient_sign", 2.5e-6),
    Defect("next_token_loss_backward", "difference", "cross_entropy_gradient_sign", 0.08, "bfloat16"),
    Defect("next_token_loss_backward", "count", "loss_denominator_counts_padding", 1.2e-5),
    Defect("dropout_backward", "share", "dropout_mask_inverted", 4e-7),
    Defect("dropout_backward", "share", "dropout_mask_inverted", 0.026, "bfloat16"),
    Defect("encoder_layer_backward", "residual", FORGOTTEN, 3.2e-4),
    Defect("encoder_layer_backward", "through_norm", "norm_backward_skipped", 1.8e-4),
    Defect("decoder_layer_backward", "residual", FORGOTTEN, 4.1e-4),
    Defect("decoder_layer_backward", "memory", "memory_without_gradient", 1.6e-2),
    Defect("encoder_backward", "residual", FORGOTTEN, 2.2e-4),
    Defect("encoder_backward", "between_layers", "not_between_layers", 2e-3),
    Defect("encoder_backward", "positions", "positions_without_gradient", 2e-2),
    Defect("encoder_decoder_backward", "residual", FORGOTTEN, 3.2e-4),
    Defect("encoder_decoder_backward", "between_layers", "not_between_layers", 3.3e-3),
    Defect("encoder_decoder_backward", "memory", "memory_without_gradient", 8e-2),
    Defect("language_model_backward", "residual", FORGOTTEN, 4.7e-5),
    Defect("language_model_backward", "table", "tied_table_without_gradient_of_logits", 2.8e-5),
    Defect("language_model_backward", "attention.cut", "no_values", 1.9e-4),
    Defect("training_steps", "gradients", "gradients_not_zeroed", 1e-4),
    Defect("training_steps", "learning_rate", "schedule_stepped_early", 1.3e-5),
    Defect("training_steps", "reported", "loss_after_update", 5e-4),
)


def drawn(operation: str, dtype: str) -> Iterator[Inputs]:
    architectures = load("numpy").architectures.get(operation, ())
    limits = Limits(operation, (dtype,), frozenset(OPERATIONS[operation].features), architectures=architectures)
    choice, random = cases(ample_space(operation), limits), Random(3)
    for _ in range(CASES):
        yield draw_inputs(operation, choice.sample(random))


def parts_outside(defect: Defect) -> Iterator[float]:
    """Yield, for each case in which the defect shows, the part of it that is as large as the bound."""
    family = family_of(defect.operation)
    assert family is not None
    for inputs in drawn(defect.operation, defect.dtype):
        arguments = arguments_of(inputs)
        wrong = family.standard.changed((defect.decision, defect.option)).compute(arguments)
        expected = inputs.expected(standard_conventions())
        moved = np.abs(wrong - family.standard.compute(arguments))[expected.judged]
        if moved.max(initial=0.0) > 1e-6 * np.abs(expected.value[expected.judged]).max(initial=0.0):
            yield float(1.0 / (moved / np.maximum(expected.allowed[expected.judged], 1e-300)).max())


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: f"{one.operation}-{one.option}-{one.dtype}")
def test_a_small_part_of_a_mistake_is_outside_the_bound(defect: Defect) -> None:
    parts = [*parts_outside(defect)]
    assert len(parts) >= 5
    assert np.median(parts) < defect.part
