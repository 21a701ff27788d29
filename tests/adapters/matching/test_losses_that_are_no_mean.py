"""Losses that are sums, sums beside a count, or numbers for each token, as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests import check

Loaded = Callable[..., Implementation]
LOSSES = '''
import torch.nn.functional as F


def {name}(logits, labels, ignore_index=-100):
    """{documented}"""
    kept = labels != ignore_index
    losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none", ignore_index=ignore_index)
    losses = losses.view(labels.shape)
    return {returned}
'''


def test_losses_of_all_tokens_are_judged_by_their_mean(loaded: Loaded) -> None:
    each = LOSSES.format(name="cross_entropy", documented="", returned="losses")
    assert set(loaded(each).operations) == {"cross_entropy", "cross_entropy_backward"}
    assert check(loaded(each), tier="quick").counts["failed"] == 0
    smoothed = each.replace("reduction=", "label_smoothing=0.1, reduction=")
    assert check(loaded(smoothed), tier="quick").counts["failed"] > 0


@pytest.mark.parametrize(
    ("name", "documented", "counted"),
    (("loss_sum", "", True), ("nll", "Sum over all tokens.", True), ("loss", "Mean, not a sum.", False)),
)
def test_a_sum_is_one_where_it_is_called_so(loaded: Loaded, name: str, documented: str, counted: bool) -> None:
    found = loaded(LOSSES.format(name=name, documented=documented, returned="losses.sum()"))
    failed = check(found, tier="quick").counts["failed"] if found.operations else 1
    assert (failed == 0) is counted


def test_a_sum_beside_its_count_is_divided_by_it(loaded: Loaded) -> None:
    right = LOSSES.format(name="loss", documented="", returned="losses.sum(), kept.sum()")
    assert check(loaded(right), tier="quick").counts["failed"] == 0
    # Tokens that are ignored are counted: an average that is too low.
    wrong = right.replace("kept.sum()", "labels.numel()")
    assert check(loaded(wrong), laws="cross_entropy.ignore.*", tier="quick").counts["failed"] > 0


JAX = """
import jax
import jax.numpy as jnp


def loss(logits, labels, pad_id=0):
    logarithms = jax.nn.log_softmax(logits, axis=-1)
    losses = -jnp.take_along_axis(logarithms, labels[..., None], axis=-1)[..., 0]
    kept = (labels != pad_id).astype(logits.dtype)
    return (losses * kept).sum() / kept.sum()
"""


@pytest.mark.long
def test_a_token_to_ignore_that_must_be_a_class_is_one_in_jax_too(loaded: Loaded) -> None:
    assert check(loaded(JAX), tier="quick").counts["failed"] == 0
