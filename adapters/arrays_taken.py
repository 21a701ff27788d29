"""Which framework's arrays an operation takes, if it fails on those of the framework that is declared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.arrays import FRAMEWORKS, ArrayFramework, framework, noun
from veriformer.adapters.errors import OperationRaised, UnjudgeableResult, WrongFramework
from veriformer.adapters.weights import converted


@dataclass
class ArraysTaken:
    """The operations of one implementation that have answered, and those that take another framework's arrays."""

    answered: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)

    def refuse(self, operation: str) -> None:
        """Raise WrongFramework if the operation is known to take another framework's arrays."""
        if operation in self.wrong:
            raise WrongFramework(self.wrong[operation])

    def doubt(
        self,
        operation: str,
        own: ArrayFramework,
        function: Callable[..., Any],
        positional: tuple[Any, ...],
        keywords: Mapping[str, Any],
        error: OperationRaised | UnjudgeableResult,
    ) -> None:
        """Test whether an operation that has never answered takes another framework's arrays.

        WrongFramework if the same call answers with arrays of another framework that is imported here.
        """
        if operation in self.answered:
            return
        # Asked once: where no framework makes it answer, the next call may still do so.
        self.answered.add(operation)
        if isinstance(error, UnjudgeableResult) and _answers(own, own, function, positional, keywords):
            # It takes these arrays and returns some; another check judges them.
            return
        for other in _others(own, function):
            if _answers(own, other, function, positional, keywords):
                self.wrong[operation] = (
                    f'its framework is "{own.name}", and on {noun(own.name)}s it fails; the same call with '
                    f'{noun(other.name)}s answers: set framework = "{other.name}"'
                )
                raise WrongFramework(self.wrong[operation]) from error


def _others(own: ArrayFramework, function: Callable[..., Any]) -> Iterator[ArrayFramework]:
    """Yield the other frameworks that are imported here, first those that the operation is written with."""
    for name in dict.fromkeys((*frameworks_used(function), *FRAMEWORKS)):
        if name != own.name and name in sys.modules:
            yield framework(name)


def _answers(
    own: ArrayFramework,
    other: ArrayFramework,
    function: Callable[..., Any],
    positional: tuple[Any, ...],
    keywords: Mapping[str, Any],
) -> bool:
    """Return whether a call with arrays of `other` returns arrays of `other` only."""

    def convert(array: Any) -> Any:
        dtype = own.dtype_name(array)
        return other.from_numpy(own.to_numpy(array), dtype if dtype in own.dtypes else None)

    try:
        arguments = tuple(converted(value, own.is_array, convert) for value in positional)
        named = {name: converted(value, own.is_array, convert) for name, value in keywords.items()}
        returned = other.call(function, arguments, named)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    parts = returned if isinstance(returned, tuple | list) and returned else (returned,)
    return other.is_array(parts[0])
