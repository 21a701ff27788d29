"""The cost of a Transformer's operations: scalar operations, numbers moved, parameters, decoding with a cache.

`operations`, `decoding`, `traffic` and `parameters` hold the formulas, `scalar_loops` the loops that they count.
"""

from __future__ import annotations

from veriformer.spec.cost.count import Count, Traffic

__all__ = ["Count", "Traffic"]
