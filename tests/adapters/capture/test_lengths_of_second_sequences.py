"""A second sequence is long enough to tell the buckets of relative positions for one direction from those for both."""

from __future__ import annotations

import pytest
from veriformer import reference
from veriformer.adapters.capture.inputs import sizes_for


@pytest.mark.parametrize("buckets", (16, 32))
def test_buckets_for_both_directions_differ_within_its_length(buckets: int) -> None:
    sizes = sizes_for({"shared": (90, 48), "bias": (buckets, 4), "wo": (48, 48)})
    earlier = list(range(1 - sizes.other_length, 1))
    one, both = (
        reference.relative_position_bucket(earlier, bidirectional=each, num_buckets=buckets, max_distance=128)
        for each in (False, True)
    )
    assert (one != both).any()


def test_a_table_of_positions_bounds_it() -> None:
    assert sizes_for({"positions": (9, 48), "wo": (48, 48)}).other_length <= 9
