"""The catalogue of operations, stated by topic: interface document, listings and reports are drawn from it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from veriformer.spec.extensions import Catalogue, Stated
from veriformer.spec.operations.operation import Kind, Operation, Parameter, Requirement
from veriformer.spec.topics import topics

__all__ = ["OPERATIONS", "Kind", "Operation", "Parameter", "Requirement"]


def _in_listings(operation: Operation) -> tuple[int, bool, bool]:
    # The gradients of keywords come after those of the arguments that every call has.
    of_keywords = bool(operation.forward) and operation.name != f"{operation.forward}_backward"
    return operation.place, bool(operation.forward), of_keywords


def _by_name(operations: Iterable[Operation]) -> dict[str, Operation]:
    return {operation.name: operation for operation in sorted(operations, key=_in_listings)}


def _of_extension(extension: Stated) -> dict[str, Operation]:
    return _by_name(extension.operations)


_TOPICS = topics(sys.modules[__name__], "OPERATIONS")
OPERATIONS = Catalogue(_by_name(one for topic in _TOPICS for one in topic.OPERATIONS), _of_extension)
