"""The suites of feed-forward networks."""

from __future__ import annotations

from functools import partial

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.feed_forward.cases import (
    FeedForwardCase,
    FeedForwardSpace,
    feed_forward_cases,
)
from veriformer.conformance_tests.operations.feed_forward.inputs import FeedForwardInputs
from veriformer.conformance_tests.operations.feed_forward.rarities import FEED_FORWARD, GATED

SUITES = tuple(
    Suite(
        name,
        space=lambda _: FeedForwardSpace(),
        draw=feed_forward_cases,
        inputs=FeedForwardInputs,
        weight=weight,
        ordinary=FeedForwardCase(2, 3, 4, 5, activation="gelu", palette="normal"),
        rarities=rarities,
        variants=("veriformer.conformance_tests.operations.feed_forward.variants", name.upper()),
        given=partial(FeedForwardInputs.given, name),
    )
    for name, weight, rarities in (("feed_forward", 15, FEED_FORWARD), ("gated_feed_forward", 18, GATED))
)
