"""Families: the formula of each operation with every decision of an implementer as a named choice.

An option is standard, a convention, a mistake, or harmless. Conventions, mistakes and ports are all points of a family:
a point that reproduces an implementation's results describes the implementation.
"""

from __future__ import annotations

from veriformer.conformance_tests.variants.decision import Decision, Option
from veriformer.conformance_tests.variants.family import Family, NotDefined, Point

__all__ = ["Decision", "Family", "NotDefined", "Option", "Point"]
