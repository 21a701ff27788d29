"""The topics of the operations: the modules that state them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType

from veriformer.spec import operations
from veriformer.spec.operations import Operation
from veriformer.spec.topics import topics as modules


@dataclass(frozen=True)
class Topic:
    """A topic: its name, a sentence, and its operations."""

    name: str
    summary: str
    operations: tuple[Operation, ...]

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name.replace("_", " ").capitalize()


@cache
def topics() -> tuple[Topic, ...]:
    """Return every topic, in the order of the operations."""
    found = [_topic(module) for module in modules(operations, "OPERATIONS")]
    return tuple(sorted(found, key=lambda topic: min(operation.place for operation in topic.operations)))


def topic_of(operation: Operation) -> Topic:
    """Return the topic that states an operation."""
    return next(topic for topic in topics() if operation in topic.operations)


def _topic(module: ModuleType) -> Topic:
    summary = (module.__doc__ or "").partition("\n")[0]
    return Topic(module.__name__.rpartition(".")[2], summary, tuple(module.OPERATIONS))
