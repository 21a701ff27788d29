"""What is to be made of a model: an implementation of operations, of the whole or of one of its parts.

The suite decides it after it has recognised the model, and sends it to where the model is, perhaps another process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.whole_models.by_name import with_names
from veriformer.adapters.whole_models.stage import Stage


class NotWrapped(LoadError):
    """A model, or a part of it, cannot be called as an implementation; the sentence says why."""


class NotRepeatable(NotWrapped):
    """A model answers its first call, and the same call otherwise later on; the sentence says what comes of it."""


class Wrapping(Protocol):
    """How an implementation is made of a model on its stage. It is sent to another process as a pickle."""

    @property
    def path(self) -> str:
        """The module that it is made of; empty for the whole model."""

    def implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        """Return the implementation called `name`; `arguments` are those on which the model was recorded.

        Raises NotWrapped, or whatever the model raises.
        """


@dataclass(frozen=True)
class Wrapped:
    """What a wrapping came to: an implementation, or None and the reason why there is none.

    `not_repeated` is what came of the same call later on, where that ends in an exception.
    """

    path: str
    implementation: Implementation | None
    reason: str = ""
    not_repeated: str = ""


def wrapped(wrappings: Iterable[Wrapping], stage: Stage, arguments: Arguments, name: str) -> list[Wrapped]:
    """Return what each of the wrappings comes to; one that raises does not stand in the way of the others."""
    arguments = with_names(stage, arguments)
    return [_wrapped(wrapping, stage, stage.cast(arguments), name) for wrapping in wrappings]


def _wrapped(wrapping: Wrapping, stage: Stage, arguments: Arguments, name: str) -> Wrapped:
    try:
        return Wrapped(wrapping.path, wrapping.implementation(stage, arguments, name))
    except NotRepeatable as error:
        return Wrapped(wrapping.path, None, f"the same call gives other results later on: {error}", str(error))
    except LoadError as error:
        return Wrapped(wrapping.path, None, str(error))
    except Exception as error:
        return Wrapped(wrapping.path, None, f"calling it again raised {describe(error)}")
