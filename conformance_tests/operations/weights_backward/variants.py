"""The family of the backward pass of attention's weights: that of attention without what is about values."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.operations.attention_backward.recomputed import RECOMPUTED, Passed
from veriformer.conformance_tests.operations.attention_backward.variants import (
    EMPTY_ROWS,
    FACTOR_OF_KEYS,
    FACTOR_OF_QUERIES,
    GRADIENT_OF_LOGITS,
    KEYS,
    PARTS_RETURNED,
    QUERIES,
    SOFTCAP_SLOPE,
    compute,
)
from veriformer.conformance_tests.variants.decision import Decision, mistake
from veriformer.conformance_tests.variants.family import Family

# Their mistakes are about values, or differ from others of the decision in the gradient of the values alone.
_OF_VALUES = (
    "values_laid_out_again",
    "attention_backward_value_width_from_keys",
    "no_value",
    "key_and_value_exchanged",
    "nan_everywhere",
    "nan_through_weights",
)


def _without_values(decision: Decision) -> Decision:
    options = tuple(option for option in decision.options if option.name not in _OF_VALUES)
    return Decision(decision.name, decision.question, options, decision.convention)


def _passed_unchanged(passed: Passed) -> np.ndarray:
    return passed.grad_weights


_OF_LOGITS = _without_values(GRADIENT_OF_LOGITS)
WEIGHTS_BACKWARD = Family(
    "attention_weights_backward",
    (
        *RECOMPUTED,
        Decision(
            _OF_LOGITS.name,
            _OF_LOGITS.question,
            (*_OF_LOGITS.options, mistake("gradient_passed_unchanged", _passed_unchanged)),
        ),
        SOFTCAP_SLOPE,
        KEYS,
        QUERIES,
        FACTOR_OF_QUERIES,
        FACTOR_OF_KEYS,
        _without_values(PARTS_RETURNED),
        _without_values(EMPTY_ROWS),
    ),
    compute,
    needs_dtype=True,
)
