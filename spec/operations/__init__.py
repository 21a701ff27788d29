"""The catalogue of operations, stated by topic: interface document, listings and reports are drawn from it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from veriformer.spec.operations.operation import Kind, Operation, Parameter, Requirement
from veriformer.spec.topics import topics

__all__ = ["OPERATIONS", "Kind", "Operation", "Parameter", "Requirement"]


def _catalogue() -> dict[str, Operation]:
    found = (operation for topic in topics(sys.modules[__name__], "OPERATIONS") for operation in topic.OPERATIONS)
    return {operation.name: operation for operation in sorted(found, key=lambda one: one.place)}


OPERATIONS: Mapping[str, Operation] = MappingProxyType(_catalogue())
