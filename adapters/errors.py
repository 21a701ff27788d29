"""What can go wrong between the suite and an implementation; each error is one sentence that says what to do."""

from __future__ import annotations

LONGEST_MESSAGE = 200


class AdapterError(Exception):
    """Base of every error of this room."""


class LoadError(AdapterError):
    """The implementation cannot be found, imported or understood; `__cause__` keeps the original exception."""


class MissingFramework(LoadError):
    """The framework whose arrays are wanted is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not installed: {install_hint(name)}")
        self.name = name


class NotDifferentiable(AdapterError):
    """Automatic differentiation cannot get from the result of a function back to its arguments."""


class UnsupportedDtype(AdapterError):
    """The framework has no arrays of the dtype asked for, here and now."""


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


def install_hint(framework: str) -> str:
    """Return the command that installs a framework."""
    extra = "" if framework == "numpy" else f"[{framework}]"
    return f"pip install 'veriformer{extra}'"


def describe(exception: BaseException) -> str:
    """Return the type of an exception and the first line of its message, of bounded length."""
    lines = _message(exception).strip().splitlines()
    first = lines[0].strip() if lines else ""
    if len(first) > LONGEST_MESSAGE:
        first = first[: LONGEST_MESSAGE - 1] + "…"
    return f"{type(exception).__name__}: {first}" if first else type(exception).__name__


def _message(exception: BaseException) -> str:
    # The exception belongs to the implementation, and so does its __str__, which may fail in turn.
    try:
        return str(exception)
    except Exception:
        return ""
