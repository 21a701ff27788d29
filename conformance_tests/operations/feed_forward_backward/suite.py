"""The suites of the gradients of feed-forward networks."""

from __future__ import annotations

from functools import partial

from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.operations.feed_forward.cases import (
    FeedForwardCase,
    FeedForwardSpace,
    feed_forward_cases,
)
from veriformer.conformance_tests.operations.feed_forward_backward.inputs import NetworkBackwardInputs
from veriformer.conformance_tests.operations.feed_forward_backward.rarities import FEED_FORWARD, GATED

SUITES = tuple(
    Suite(
        name,
        space=lambda _: FeedForwardSpace(),
        draw=feed_forward_cases,
        inputs=NetworkBackwardInputs,
        weight=weight,
        ordinary=FeedForwardCase(2, 3, 4, 5, activation="gelu", palette="normal"),
        rarities=rarities,
        variants=("veriformer.conformance_tests.operations.feed_forward_backward.variants", name.upper()),
        given=partial(NetworkBackwardInputs.given, name),
    )
    for name, weight, rarities in (
        ("feed_forward_backward", 25, FEED_FORWARD),
        ("gated_feed_forward_backward", 30, GATED),
    )
)
