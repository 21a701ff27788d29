"""What is done to logits, to their mask and to their bias, is named where a port does it otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from veriformer.conformance_tests.ports.masks import SeenPairs, mask_otherwise
from veriformer.conformance_tests.recognition.buckets import BucketRule

CAUSAL = np.tril(np.ones((1, 5, 5), dtype=bool))
PADDED = np.broadcast_to(np.arange(5) < np.array([5, 3])[:, None, None], (2, 5, 5))
BOTH = PADDED & CAUSAL

_MASKS = [
    (PADDED, ~PADDED, "mask_polarity_inverted"),
    (PADDED, np.ones_like(PADDED), "padding_mask_ignored"),
    (BOTH, np.broadcast_to(CAUSAL, BOTH.shape), "padding_mask_ignored"),
    (BOTH, PADDED, "decoder_not_causal"),
    (PADDED, BOTH, "encoder_made_causal"),
    (BOTH, PADDED & np.tril(np.ones((5, 5), dtype=bool), 1), "causal_diagonal_off_by_one"),
    (PADDED, np.broadcast_to(np.arange(5) > 1, PADDED.shape), ""),
]


@pytest.mark.parametrize(("usual", "own", "name"), _MASKS)
def test_a_pattern_in_place_of_another(
    usual: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    own: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    name: str,
) -> None:
    assert mask_otherwise(SeenPairs(own), SeenPairs(usual)) == name


def test_rules_that_no_position_tells_apart_are_the_same() -> None:
    one = BucketRule(((0, 0), (1, 5)), 8)
    assert one == BucketRule(((0, 0), (2, 6)), 8)
    assert one != BucketRule(((0, 0), (1, 6)), 8)
