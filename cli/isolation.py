"""Which implementations run in a process of their own, and starting that process early."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from veriformer.adapters.asked import Asked
    from veriformer.adapters.implementation import Implementation
    from veriformer.adapters.isolation.limits import ProcessLimits
    from veriformer.adapters.isolation.supervisor import Supervisor

# A day, and more memory than any machine has: a larger limit is a typing error.
LONGEST_CALL = 86_400.0
LARGEST_MEMORY = 65_536.0


class Limit(click.FloatRange):
    """A number above 0 and at most `max`, and not NaN."""

    def __init__(self, largest: float) -> None:
        super().__init__(min=0, min_open=True, max=largest)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a usage error for anything else."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number; give one above 0 and at most {self.max:g}.", param, ctx)
        return number


_OPTIONS = (
    click.option(
        "--isolate/--no-isolate",
        default=None,
        help="Run implementations in a process of their own [default: files only].",
    ),
    click.option(
        "--time-limit",
        type=Limit(LONGEST_CALL),
        metavar="SECONDS",
        help="How long a call may take in that process [default: 10, a model 120].",
    ),
    click.option(
        "--import-limit",
        type=Limit(LONGEST_CALL),
        metavar="SECONDS",
        help="How long importing the file may take there [default: 60, a model 120].",
    ),
    click.option(
        "--memory-limit",
        type=Limit(LARGEST_MEMORY),
        metavar="GIB",
        help="How much memory its calls may take [default: 4, a model 6].",
    ),
)


@dataclass(frozen=True)
class IsolationOptions:
    """What a command asks of isolation.

    `isolate`: whether implementations run in a process of their own, None for files only.
    `time_limit`: the seconds that a call may take there, None for the usual ones.
    `import_limit`: the seconds that importing may take there, None for the usual ones.
    `memory_limit`: the memory that calls may take there, in GiB, None for the usual one.
    """

    isolate: bool | None
    time_limit: float | None
    memory_limit: float | None
    import_limit: float | None = None

    def limits(self, usual: ProcessLimits | None = None) -> ProcessLimits:
        """Return the limits of a process; what was not given is as in `usual`."""
        from veriformer.adapters.isolation.limits import GIBIBYTE, ProcessLimits

        memory = None if self.memory_limit is None else int(self.memory_limit * GIBIBYTE)
        return (usual or ProcessLimits()).changed(self.time_limit, memory, self.import_limit)


def isolation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--isolate` and the limits of a process to a command, which gets them as `isolation`."""

    @wraps(command)
    def with_isolation(
        *,
        isolate: bool | None,
        time_limit: float | None,
        memory_limit: float | None,
        import_limit: float | None,
        **given: Any,
    ) -> Any:
        return command(isolation=IsolationOptions(isolate, time_limit, memory_limit, import_limit), **given)

    for option in reversed(_OPTIONS):
        with_isolation = option(with_isolation)
    return with_isolation


def is_isolated(implementation: str, isolate: bool | None) -> bool:
    """Return whether an implementation gets a process of its own: a file by default, a module if requested.

    A built-in implementation never does, nor does a file by default on a system that cannot isolate processes.
    """
    from veriformer.adapters.built_in import BUILT_IN

    if implementation in BUILT_IN:
        return False
    if isolate is not None:
        return isolate
    return implementation.partition(":")[0].endswith((".py", ".onnx")) and os.name == "posix"


class Isolation:
    """The implementations of a command, of which the first is already loading while the laws are imported."""

    def __init__(
        self,
        implementations: tuple[str, ...],
        options: IsolationOptions,
        asked: Asked | None = None,
        budget: float | None = None,
    ) -> None:
        self._asked = asked
        self._budget = budget
        self._started = time.monotonic()
        self._isolate = options.isolate
        self._limits = options.limits()
        self._options = options
        self._first = implementations[0] if implementations else ""
        self._begun = self._begin(self._first) if implementations else None

    def target(self, implementation: str) -> str | Implementation:
        """Return the name of an implementation that runs here, or the implementation in its own process.

        LoadError where it cannot be loaded.
        """
        if not is_isolated(implementation, self._isolate):
            return implementation
        from veriformer.adapters.asked import NOTHING_ASKED
        from veriformer.adapters.isolation.loading import load_isolated

        # An implementation that is compared with itself gets two processes.
        begun, self._begun = (self._begun, None) if implementation == self._first else (None, self._begun)
        return load_isolated(implementation, self._limits, begun, self._asked or NOTHING_ASKED, self._budget)

    def began(self, implementation: str) -> float:
        """Return when work on an implementation began, by the monotonic clock: the first loads since the beginning."""
        return self._started if implementation == self._first else time.monotonic()

    def limits_of_model(self, source: str) -> ProcessLimits | None:
        """Return the limits of the process that a model runs in; None where it runs in this one."""
        if not is_isolated(source, self._isolate):
            return None
        from veriformer.adapters.capture.isolated import MODEL_LIMITS

        return self._options.limits(MODEL_LIMITS)

    @contextmanager
    def loaded(self, implementation: str) -> Iterator[str | Implementation]:
        """Yield `target` of an implementation, whose process ends with the context."""
        target = self.target(implementation)
        try:
            yield target
        finally:
            if not isinstance(target, str):
                target.close()

    def _begin(self, implementation: str) -> Supervisor | None:
        from veriformer.adapters.asked import NOTHING_ASKED
        from veriformer.adapters.isolation.supervisor import Supervisor

        # A system that cannot isolate processes is reported when the implementation has its turn.
        if not is_isolated(implementation, self._isolate) or os.name != "posix":
            return None
        return Supervisor(implementation, self._limits, asked=self._asked or NOTHING_ASKED, looking=self._budget)
