"""The suites of schedules of the learning rate."""

from __future__ import annotations

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.schedules.cases import (
    CosineCase,
    CosineSpace,
    RootCase,
    RootSpace,
    cosine_cases,
    root_cases,
)
from veriformer.conformance_tests.operations.schedules.inputs import CosineInputs, RootInputs
from veriformer.conformance_tests.operations.schedules.rarities import COSINE, ROOT

_VARIANTS = "veriformer.conformance_tests.operations.schedules.variants"
SUITES = (
    Suite(
        "warmup_cosine_learning_rate",
        space=lambda _: CosineSpace(),
        draw=cosine_cases,
        inputs=CosineInputs,
        weight=10,
        ordinary=CosineCase(1500, 1000, 5000),
        rarities=COSINE,
        variants=(_VARIANTS, "COSINE"),
        given=lambda dtype, arguments: CosineInputs(dtype=dtype, **arguments),
    ),
    Suite(
        "warmup_inverse_root_learning_rate",
        space=lambda _: RootSpace(),
        draw=root_cases,
        inputs=RootInputs,
        weight=10,
        ordinary=RootCase(1000, 512, 4000),
        rarities=ROOT,
        variants=(_VARIANTS, "ROOT"),
        given=lambda dtype, arguments: RootInputs(dtype=dtype, **arguments),
    ),
)
