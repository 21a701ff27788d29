"""Loading an implementation in a process of its own."""

from __future__ import annotations

from dataclasses import replace

from veriformer.adapters.asked import NOTHING_ASKED, Asked
from veriformer.adapters.built_in import BUILT_IN
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.calls import Residence
from veriformer.adapters.isolation.description import described_implementation
from veriformer.adapters.isolation.frames import Frame, MalformedFrame
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.supervisor import Supervisor
from veriformer.adapters.loading import load
from veriformer.adapters.matching.looking import looking_for


def load_within(
    target: object, limits: ProcessLimits | None, asked: Asked = NOTHING_ASKED, looking: float | None = None
) -> Implementation:
    """Return the implementation that `target` names or is, in a process of its own if there are limits.

    `looking` is how many seconds finding out what its functions are may take, None for as many as that takes.
    """
    if limits is None or isinstance(target, Implementation):
        with looking_for(looking):
            return load(target, asked)
    return load_isolated(target, limits, asked=asked, looking=looking)


def load_isolated(
    target: object,
    limits: ProcessLimits | None = None,
    supervisor: Supervisor | None = None,
    asked: Asked = NOTHING_ASKED,
    looking: float | None = None,
) -> Implementation:
    """Return the implementation that `target` names, loaded in a process of its own; a built-in one is loaded here.

    `supervisor` is an earlier one for this target, whose worker is already loading. Raises LoadError as `load` does,
    when loading hangs or ends the process, and for an object, which cannot be sent to another process.
    """
    if not isinstance(target, str):
        kind = type(target).__name__
        raise LoadError(f"a {kind} lives in this process; name its file or its import path to isolate it")
    if target in BUILT_IN:
        return load(target)
    supervisor = supervisor or Supervisor(target, limits or ProcessLimits(), asked=asked, looking=looking)
    try:
        return replace(_described(supervisor), residence=Residence(supervisor), asked=supervisor.asked)
    except BaseException:
        supervisor.close()
        raise


def _described(supervisor: Supervisor) -> Implementation:
    header = supervisor.loaded()
    try:
        error = messages.error_in(Frame(header), supervisor.target)
    except MalformedFrame as malformed:
        raise LoadError(f"{supervisor.target}: its process does not answer as it should") from malformed
    if error is not None:
        raise error if isinstance(error, LoadError) else LoadError(str(error)) from error.__cause__
    return described_implementation(header.get("implementation"), supervisor.target)
