"""Classes that attend position by position with a cache of their own, as functions of a whole sequence.

A class without a forward pass is built anew with the weights of each call. Its prompt method is given the first
positions, its step method the others one by one; the results side by side are those of causal attention.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from veriformer.adapters.matching.classes import without_forward_pass
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import joined, part_of, reshaped, shape_of

_STEPS = frozenset(("step", "decode", "decodestep", "decodeone", "forwardstep", "forwardone", "nexttoken", "onestep"))
_PROMPTS = frozenset(("prefill", "prompt", "prime", "encodeprompt", "forwardprompt", "start"))
# Queries, keys, values and output: what has fewer arrays attends with none of its own.
_LEAST_WEIGHTS = 3
_OF_A_SEQUENCE = 2


def functions_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the classes of a file that take weights and answer step by step, as functions of a sequence and those."""
    place = getattr(module, "__file__", None)
    names = without_forward_pass(str(place)) if place and Path(str(place)).suffix == ".py" else []
    found = ((name, function_of(getattr(module, name, None))) for name in names)
    return {name: function for name, function in found if function is not None}


def function_of(kind: object) -> Callable[..., Any] | None:
    """Return a class that takes weights and answers step by step as a function of a sequence and those; else None."""
    step, prompt = (_method(kind, names) for names in (_STEPS, _PROMPTS))
    if not isinstance(kind, type) or step is None:
        return None
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        return None
    plain = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    if len([one for one in plain if one.default is one.empty]) < _LEAST_WEIGHTS or len(plain) < len(parameters):
        return None

    def steps(x: Any, **given: Any) -> Any:
        try:
            return _answered(kind(**given), step, prompt, x, alone=True)
        except Exception:
            # A step may be written for an axis of positions, of length 1; what is wrong with it is then raised again.
            return _answered(kind(**given), step, prompt, x, alone=False)

    first = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in plain if one.name != "x"]
    steps.__signature__ = inspect.Signature([first, *by_name])  # type: ignore[attr-defined]
    steps.__name__, steps.__doc__, steps.__module__ = kind.__name__, kind.__doc__, kind.__module__
    begun = "" if prompt is None else f"half of the positions to `{prompt}`, then "
    steps.said = (f"built for each call; {begun}one position at a time to `{step}`",)  # type: ignore[attr-defined]
    # Its text is that of the class.
    steps.__wrapped__ = kind  # type: ignore[attr-defined]
    return steps


def _method(kind: object, names: frozenset[str]) -> str | None:
    """Return the method of one of these names that needs one array and nothing else."""
    for name, one in vars(kind).items() if isinstance(kind, type) else ():
        if folded(name) in names and inspect.isfunction(one):
            needed = [each for each in inspect.signature(one).parameters.values() if each.default is each.empty]
            if len(needed) == len(("self", "x")):
                return name
    return None


def _answered(made: Any, step: str, prompt: str | None, x: Any, *, alone: bool) -> Any:
    """Return what an object answers for a sequence (L, E) or (B, L, E), its first half at once where it takes that.

    `alone` says that a step is given its position without an axis of positions.
    """
    shape = shape_of(x)
    axis = 0 if len(shape) <= _OF_A_SEQUENCE else 1
    begun = 0 if prompt is None else (shape[axis] + 1) // 2

    def of_rows(method: str, start: int, end: int, *, flat: bool) -> Any:
        rows = part_of(x, (*(slice(None) for _ in range(axis)), slice(start, end)))
        returned = getattr(made, method)(reshaped(rows, (*shape[:axis], *shape[axis + 1 :])) if flat else rows)
        output = returned[0] if isinstance(returned, tuple | list) else returned
        return reshaped(output, (*shape[:axis], end - start, *shape[axis + 1 :]))

    results = [of_rows(prompt, 0, begun, flat=False)] if prompt is not None and begun else []
    results += [of_rows(step, one, one + 1, flat=alone) for one in range(begun, shape[axis])]
    return joined(results, axis)
