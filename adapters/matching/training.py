"""Functions and classes of training as operations: the first form whose results are the reference's, else the first.

Each role follows from the name of a parameter. A form whose results are others is taken only where no doubt is left
what the function is meant to be.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import describe
from veriformer.adapters.matching import clipping, dropouts, optimizers, schedules
from veriformer.adapters.matching.search import Found
from veriformer.adapters.matching.wired import DoesNotFit, Wired
from veriformer.spec.operations import OPERATIONS

_KINDS: Mapping[str, ModuleType] = {
    optimizers.ADAMW: optimizers,
    clipping.CLIP: clipping,
    schedules.COSINE: schedules,
    schedules.ROOT: schedules,
    dropouts.DROPOUT: dropouts,
}
OPERATIONS_OF = tuple(_KINDS)
"""The operations of training."""
# Under which other conventions a result is right, by the keywords of the reference; the last may not be found out.
_CONVENTIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    clipping.CLIP: ({"norm_eps": "1e-6"},),
    schedules.COSINE: ({"warmup_start": "first_share"},),
}
_DECLARED_ALONE: Mapping[str, tuple[Mapping[str, str], ...]] = {
    optimizers.ADAMW: ({"eps_placement": "before_correction"},)
}
_NEAR = 2e-4


def operation_of(function: Any, name: str) -> str | None:
    """Return the operation of training that a function or class is; None where it is none."""
    return next(
        (operation for kind in dict.fromkeys(_KINDS.values()) for operation in kind.operations(function, name)), None
    )


def classes_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the classes of a module that are operations of training."""
    return {**optimizers.classes_of(module), **schedules.classes_of(module)}


def form_of(function: Any, operation: str, framework: ArrayFramework) -> tuple[Found | None, str]:
    """Return the form in which a function is an operation of training; None with the reason where there is none."""
    kind = _KINDS[operation]
    if kind is dropouts:
        # Which entries a seed drops is the function's own, so that no result of the reference is the right one.
        return dropouts.form_of(function, framework)
    best: Wired | None = None
    failure = ""
    try:
        for form in kind.forms(function, operation):
            try:
                verdicts = [_verdict(form, function, operation, given, framework) for given in kind.probes(operation)]
            except KeyboardInterrupt:
                raise
            except DoesNotFit as error:
                failure = failure or str(error)
                continue
            except BaseException as error:
                failure = failure or describe(error)
                continue
            if all(verdict == "right" for verdict in verdicts):
                # What is right only as a last resort, without what the best form has, is wrong with that.
                found = form if best is None or not form.last_resort else best
                return Found(found, found is form), ""
            if "declared" in verdicts and "wrong" not in verdicts:
                return None, "its results are those of another convention, which a file has to declare"
            best = best or (None if form.exact_only else form)
    except DoesNotFit as error:
        return None, str(error)
    if best is None:
        return None, failure
    if kind is schedules and not _departs_beyond_customs(best, function, operation, framework):
        return None, "its warm-up is another than those that are known"
    if not _is_sound(best, function, kind.probes(operation)[0], framework):
        return None, "it keeps more than the moments and the count of its steps"
    return Found(best, False), ""


def _is_sound(form: Wired, function: Any, given: Mapping[str, Any], framework: ArrayFramework) -> bool:
    arguments = {name: _converted(value, framework) for name, value in given.items()}
    try:
        return bool(framework.call(lambda *_: form.is_sound(function, arguments), (), {}))
    except Exception:
        return False


def _departs_beyond_customs(form: Wired, function: Any, operation: str, framework: ArrayFramework) -> bool:
    return any(
        _verdict(form, function, operation, given, framework) == "wrong"
        for given in schedules.probes(operation)
        if not schedules.is_only_the_warmup(operation, given)
    )


def _verdict(form: Wired, function: Any, operation: str, given: Mapping[str, Any], framework: ArrayFramework) -> str:
    """Return whether a call is right under a convention that is found out, under one that is declared, or wrong.

    DoesNotFit where the results have other shapes.
    """
    from veriformer import reference

    results = _results(form, function, given, framework)
    positional = [given[name] for name in OPERATIONS[operation].positional]
    named = {name: value for name, value in given.items() if name not in OPERATIONS[operation].positional}

    def fits(conventions: Mapping[str, str]) -> bool:
        expected = getattr(reference, operation)(*positional, **named, **conventions)
        wanted = [np.asarray(one) for one in (expected if isinstance(expected, tuple | list) else (expected,))]
        if [one.shape for one in wanted] != [one.shape for one in results]:
            raise DoesNotFit(f"its results have the shapes {[one.shape for one in results]}")
        return all(
            np.all(np.abs(got - one) <= _NEAR * max(float(np.abs(one).max(initial=0.0)), 1e-12))
            for got, one in zip(results, wanted, strict=True)
        )

    with np.errstate(all="ignore"):
        if any(fits(one) for one in ({}, *_CONVENTIONS.get(operation, ()))):
            return "right"
        return "declared" if any(fits(one) for one in _DECLARED_ALONE.get(operation, ())) else "wrong"


def _results(form: Wired, function: Any, given: Mapping[str, Any], framework: ArrayFramework) -> list[np.ndarray]:
    arguments = {name: _converted(value, framework) for name, value in given.items()}
    with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        returned = framework.call(lambda *_: form.called(function, arguments), (), {})
    parts = returned if isinstance(returned, tuple | list) else (returned,)
    return [framework.to_numpy(one) if framework.is_array(one) else np.asarray(one, dtype=float) for one in parts]


def _converted(value: Any, framework: ArrayFramework) -> Any:
    if isinstance(value, list):
        return [_converted(one, framework) for one in value]
    return framework.from_numpy(value, "float32") if isinstance(value, np.ndarray) else value
