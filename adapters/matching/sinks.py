"""Attention that must be given a sink for each head, where the interface has none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.layouts import Arguments, Around, Inner, Layout
from veriformer.adapters.matching.namespaces import shape_of, zeros_like
from veriformer.adapters.matching.sources import Taken


@dataclass(frozen=True)
class WithSinks(Around):
    """A layout of attention in which every head has a sink: e^(−∞) = 0, so one of −∞ takes no share of the weights."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the result, with sinks of −∞ where none are given."""
        if arguments.get("sinks") is None:
            query = arguments["query"]
            arguments = {**arguments, "sinks": zeros_like(query, shape_of(query)[1:2]) - math.inf}
        return self.layout.call(inner, arguments)


def with_sinks(layouts: Sequence[Layout], found: Taken) -> list[Layout]:
    """Return layouts in which sinks are always given, if the function cannot be called without them."""
    are_needed = any(role == "sinks" and name in found.needed for name, role in found.roles.items())
    return [WithSinks(one) for one in layouts] if are_needed else list(layouts)
