"""Whether a function of an operation's name answers the interface's call, asked of a copy that keeps nothing."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from veriformer.adapters import signatures
from veriformer.adapters.arrays import framework
from veriformer.adapters.errors import LoadError
from veriformer.adapters.files import load_file
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.probes import probe_of
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS


def answers_as_written(function: Callable[..., Any], operation: str) -> bool:
    """Return whether a NumPy function gives a result of the operation's shape for the interface's required arguments.

    A function that no copy can be made of is taken to answer.
    """
    record = OPERATIONS[operation]
    if any(one.kind == "weights" or one.requirement == "keyword" for one in record.parameters if one.is_required):
        return True
    if signatures.unaccepted_call(function, record):
        return True
    copy = _copy_of(function)
    if copy is None:
        return True
    sources = {name: (lambda arguments, name=name: arguments[name]) for name in record.positional}
    takings = list(inspect.signature(copy).parameters)[: len(record.positional)]
    by_place = {taken: sources[name] for taken, name in zip(takings, record.positional, strict=True)}
    probe = probe_of(operation)
    result = Trials(copy, framework("numpy")).result(Form(operation, by_place, tuple(by_place)), probe)
    return result is not None and result.shape == probe.expected.shape


def _copy_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the function of a module that was loaded once more; None where it is in no file."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.endswith(".py"):
        return None
    loaded = dict(sys.modules)
    try:
        module, _ = load_file(code.co_filename)
    except LoadError:
        return None
    finally:
        # The copy has the private name of the module that was loaded before.
        sys.modules.update({name: one for name, one in loaded.items() if sys.modules.get(name) is not one})
    copy = getattr(module, function.__name__, None)
    return copy if callable(copy) else None
