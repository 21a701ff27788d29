"""The errors between the suite and an implementation; each is one sentence that says what to do."""

from __future__ import annotations

import traceback

from veriformer.adapters.installation import installation
from veriformer.adapters.private_names import with_own_names

LONGEST_MESSAGE = 200


class AdapterError(Exception):
    """Base of every error of this room; `elsewhere` is the traceback as text if it happened in another process."""

    elsewhere = ""


class ForeignException(Exception):
    """An exception of another process, with its description and its traceback only."""

    def __init__(self, description: str, elsewhere: str) -> None:
        super().__init__(description)
        self.description = description
        self.elsewhere = elsewhere


class LoadError(AdapterError):
    """The implementation cannot be found, imported or understood; `__cause__` keeps the original exception."""


class NoOperations(LoadError):
    """What was named declares no operation; it may be a model."""


class NotAModel(LoadError):
    """What was named is no model; it may be an implementation of operations."""


class CaptureError(LoadError):
    """A model was found, and no forward pass of it can be recorded; the sentence says why and what to do."""


class MissingFramework(LoadError):
    """The framework whose arrays are wanted is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not installed: {install_hint(name)}")
        self.name = name


class NotDifferentiable(AdapterError):
    """Automatic differentiation cannot get from the result of a function back to its arguments."""


class DifferentiationRefused(AdapterError):
    """The framework refuses to differentiate a function that was not declared to be differentiable."""


class UnsupportedDtype(AdapterError):
    """The framework has no arrays of the requested dtype here."""


class OperationRaised(AdapterError):
    """The operation ended with an exception instead of a result; `original` is that exception."""

    def __init__(self, operation: str, original: BaseException) -> None:
        super().__init__(f"{operation} raised {describe(original)}")
        self.operation = operation
        self.original = original


class UnjudgeableResult(AdapterError):
    """The operation returned something that is not an array of its framework with numbers in it."""

    def __init__(self, operation: str, returned: str, expected: str) -> None:
        super().__init__(f"{operation} returned {returned}; expected {expected}")
        self.operation = operation
        self.returned = returned


class StateCorrupted(AdapterError):
    """The operation changed the global state of its process and did not restore it."""

    def __init__(self, operation: str, what: str) -> None:
        super().__init__(f"{operation} changed {what} and left it changed; restore it before returning")
        self.operation = operation
        self.what = what


class OperationLost(AdapterError):
    """The call ended its process, or the process had to be killed; `how` completes a sentence about the operation."""

    def __init__(self, sentence: str, elsewhere: str = "", how: str = "") -> None:
        super().__init__(sentence)
        self.elsewhere = elsewhere
        self.how = how


class OperationTimedOut(OperationLost):
    """The operation did not return in time."""

    def __init__(self, operation: str, seconds: float, elsewhere: str = "") -> None:
        how = f"did not return within {seconds:g} s"
        super().__init__(f"{operation} {how}; its process was ended (--time-limit allows more)", elsewhere, how)


class OperationCrashed(OperationLost):
    """The operation ended its process, or cut it off; `how` completes the sentence."""

    def __init__(self, operation: str, how: str, elsewhere: str = "") -> None:
        super().__init__(f"{operation} {how}; a call must return or raise an exception", elsewhere, how)


class OperationNotTried(OperationLost):
    """The operation is no longer called, since earlier calls did not return; `why` completes the sentence.

    `elsewhere` is the traceback of the last of them.
    """

    def __init__(self, operation: str, why: str, elsewhere: str = "") -> None:
        super().__init__(f"{operation} was not tried, since {why}", elsewhere)


class WrongFramework(OperationNotTried):
    """The operation fails on the arrays of the declared framework, and answers on another's."""

    def __init__(self, sentence: str, elsewhere: str = "") -> None:
        OperationLost.__init__(self, sentence, elsewhere)


def install_hint(framework: str) -> str:
    """Return the command that installs a framework."""
    if framework == "cupy":
        # There is a package of it for each version of CUDA.
        return "pip install cupy-cuda12x (cupy-cuda13x for CUDA 13)"
    return installation().install("" if framework == "numpy" else framework)


def formatted_traceback(error: BaseException) -> str:
    """Return the traceback of an error, in the process where it happened; empty if there is none."""
    elsewhere = getattr(error, "elsewhere", "")
    if isinstance(error, OperationLost | StateCorrupted) or (isinstance(elsewhere, str) and elsewhere):
        return with_own_names(str(elsewhere))
    return with_own_names("".join(traceback.format_exception(error)))


def describe(exception: BaseException) -> str:
    """Return the type of an exception and the first line of its message, of bounded length."""
    if isinstance(exception, ForeignException):
        return exception.description
    lines = _message(exception).strip().splitlines()
    first = with_own_names(lines[0].strip()) if lines else ""
    if len(first) > LONGEST_MESSAGE:
        first = first[: LONGEST_MESSAGE - 1] + "…"
    return f"{type(exception).__name__}: {first}" if first else type(exception).__name__


def _message(exception: BaseException) -> str:
    # The __str__ of an implementation's exception may fail too.
    try:
        return str(exception)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""
