"""The suites of linear biases and relative buckets."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.relative_positions.cases import (
    AlibiCase,
    AlibiSpace,
    BucketCase,
    BucketSpace,
    alibi_cases,
    bucket_cases,
)
from veriformer.conformance_tests.operations.relative_positions.inputs import AlibiInputs, BucketInputs
from veriformer.conformance_tests.operations.relative_positions.rarities import ALIBI, BUCKETS

_VARIANTS = "veriformer.conformance_tests.operations.relative_positions.variants"
SUITES = (
    Suite(
        "alibi_bias",
        space=lambda _: AlibiSpace(),
        draw=alibi_cases,
        inputs=AlibiInputs,
        weight=11,
        ordinary=AlibiCase(2, 3, 4),
        rarities=ALIBI,
        variants=(f"{_VARIANTS}.alibi", "ALIBI"),
    ),
    Suite(
        "relative_position_bucket",
        space=lambda _: BucketSpace(),
        draw=bucket_cases,
        inputs=BucketInputs,
        weight=10,
        ordinary=BucketCase(3, 4, 200),
        rarities=BUCKETS,
        variants=(f"{_VARIANTS}.buckets", "BUCKETS"),
    ),
)
