"""Learning-rate schedules as people write them: a function of the step, or one that returns it, or with constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import parameters_of, words_of
from veriformer.adapters.matching.standing_for import standing_for
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.wired import DoesNotFit, Wired, roles_of

COSINE, ROOT = "warmup_cosine_learning_rate", "warmup_inverse_root_learning_rate"
_NAMES: Mapping[str, str] = {
    "step": "step it t i iter iteration epoch currentstep globalstep stepnum steps numstep stepcount",
    "warmup_steps": "warmup warmupsteps warmupiters numwarmupsteps nwarmup warmupiterations warmupepochs warm",
    "total_steps": "total totalsteps maxsteps numtrainingsteps lrdecayiters maxiters tmax numsteps nsteps totaliters "
    "trainingsteps decayiters cosinecycleiters cosinecyclesteps cosinecycle cosineiters annealsteps tc",
    "decay_steps": "decaysteps cosinesteps",
    "peak": "maxlr lr baselr peak peaklr learningrate lrmax initiallr peaklearningrate maxlearningrate "
    "baselearningrate",
    "least": "minlr least endlr lrmin finallr minlearningrate etamin endlearningrate",
    "ratio": "minratio minlrratio alpha finalratio minlrfrac minfactor finalfraction",
    "d_model": "dmodel dim modelsize hiddensize embeddim nembd modeldim dimension size",
    "factor": "factor scale lrmul",
}
_PROBES: Mapping[str, list[dict[str, Any]]] = {
    COSINE: [
        {"step": step, "peak": 0.02, "least": 0.003, "warmup_steps": warmup, "total_steps": 23}
        for step, warmup in ((0, 5), (2, 5), (5, 5), (9, 5), (17, 5), (23, 5), (40, 5), (6, 0))
    ],
    ROOT: [{"step": step, "d_model": 24, "warmup_steps": 7} for step in (1, 3, 7, 12, 50)],
}


def operations(function: Any, name: str) -> Iterator[str]:
    """Yield the schedule that a function is, by its name, its parameters and what its text computes."""
    text = (source_of(function) or "").casefold()
    roles = _roles(function)
    if "warmup_steps" not in roles or isinstance(function, type):
        return
    if "d_model" in roles or "noam" in words_of(name):
        yield ROOT
    elif "cos" in text:
        yield COSINE


def classes_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the schedules that a module has written as classes, built with constants and called with the step."""
    return {
        name: function
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and not name.startswith("_")
        if (function := _builder_of(name, kind)) is not None and [*operations(function, name)]
    }


def _builder_of(name: str, kind: type) -> Callable[..., Any] | None:
    """Return what builds an object of a class, which is a function of the step alone; None for other classes."""
    call = inspect.getattr_static(kind, "__call__", None)
    if not inspect.isfunction(call) or len(_required(call)) != len(("self", "step")):
        return None

    def build(**settings: Any) -> Any:
        return kind(**settings)

    return standing_for(call, build, name, inspect.signature(kind))


def probes(operation: str) -> list[dict[str, Any]]:
    """Return the arguments of some calls."""
    return _PROBES[operation]


def forms(function: Any, operation: str) -> Iterator[Wired]:
    """Yield the forms of a schedule; DoesNotFit where something that it needs has no parameter."""
    roles = _roles(function)
    needed = ("step", "d_model", "warmup_steps") if operation == ROOT else ("step", "warmup_steps")
    lacking = [one for one in needed if one not in roles]
    later = lacking == ["step"]
    if (lacking and not later) or (operation == COSINE and not {"total_steps", "decay_steps"} & {*roles}):
        raise DoesNotFit(f"nothing is {', '.join(lacking or ['total_steps'])}")
    unknown = [name for name in _required(function) if name not in roles.values()]
    if unknown:
        raise DoesNotFit(f"nothing of the operation is its {', '.join(unknown)}")
    rate = partial(_root, roles, later) if operation == ROOT else partial(_cosine, roles, later)
    yield Wired(operation, {}, wiring=partial(rate, 0), words=("it returns a function of the step",) if later else ())
    yield Wired(operation, {}, wiring=partial(rate, -1), words=("steps counted from the other end of 0 and 1",))
    if operation == ROOT:
        yield Wired(operation, {}, wiring=partial(rate, 1), words=("steps counted from 1 later",))
    else:
        in_warmup = partial(_cosine, roles, later, 0, in_warmup=-1)
        yield Wired(operation, {}, wiring=in_warmup, words=("its warm-up counts the first step as 1",))


def is_only_the_warmup(operation: str, arguments: Arguments) -> bool:
    """Return whether a call is of the part of a schedule that has many customs: then a departure is no mistake."""
    return operation == COSINE and arguments["step"] < arguments["warmup_steps"]


def _root(roles: Mapping[str, str], later: bool, shift: int, function: Callable[..., Any], given: Arguments) -> Any:
    values = {"warmup_steps": given["warmup_steps"], "d_model": given["d_model"], "factor": 1.0}
    return _called(function, roles, later, values, given["step"] + shift)


def _cosine(
    roles: Mapping[str, str],
    later: bool,
    shift: int,
    function: Callable[..., Any],
    given: Arguments,
    *,
    in_warmup: int = 0,
) -> Any:
    peak, least, warmup = given["peak"], given["least"], given["warmup_steps"]
    highest = peak if "peak" in roles else 1.0
    lowest = least * highest / peak if {"least", "ratio"} & {*roles} else 0.0
    values = {
        "warmup_steps": warmup,
        "total_steps": given["total_steps"],
        "decay_steps": given["total_steps"] - warmup,
        "peak": peak,
        "least": lowest,
        "ratio": lowest / highest,
        "factor": 1.0,
    }
    shift += in_warmup if given["step"] < warmup else 0
    rate = _called(function, roles, later, values, given["step"] + shift)
    if "peak" not in roles:
        rate = rate * peak
    if {"least", "ratio"} & {*roles} or given["step"] < warmup:
        return rate
    # It has a least rate of its own, mostly 0: the cosine between is what counts.
    end = _called(function, roles, later, values, given["total_steps"] + shift) / highest
    share = rate / peak if not 0.0 < end < 1.0 else (rate / peak - end) / (1.0 - end)
    return least + (peak - least) * share


def _called(
    function: Callable[..., Any], roles: Mapping[str, str], later: bool, values: Mapping[str, Any], step: int
) -> Any:
    settings = {roles[role]: value for role, value in values.items() if role in roles}
    parameters = _own(function)
    given = {name: value for name, value in settings.items() if name in parameters}
    constants = {name: value for name, value in settings.items() if name not in parameters}
    if later:
        with _Constants(function, constants):
            return function(**given)(step)
    with _Constants(function, constants):
        return function(**given, **{roles["step"]: step})


class _Constants:
    """Other values for constants of a function's module, as long as a call lasts."""

    def __init__(self, function: Callable[..., Any], values: Mapping[str, Any]) -> None:
        self._bound = getattr(inspect.unwrap(function), "__globals__", {})
        self._values = values
        self._old: dict[str, Any] = {}

    def __enter__(self) -> None:
        self._old = {name: self._bound[name] for name in self._values}
        self._bound.update(self._values)

    def __exit__(self, *_: object) -> None:
        self._bound.update(self._old)


def _own(function: Any) -> list[str]:
    return [one.name for one in parameters_of(function) or []]


def _required(function: Any) -> list[str]:
    return [one.name for one in parameters_of(function) or [] if not one.has_default]


def _roles(function: Any) -> dict[str, str]:
    """Return which parameter, or which constant of the module that the function reads, has which role."""
    own = roles_of(_NAMES, _own(function))
    code = getattr(inspect.unwrap(function), "__code__", None)
    bound = getattr(inspect.unwrap(function), "__globals__", {})
    read = [name for name in getattr(code, "co_names", ()) if type(bound.get(name)) in (int, float)]
    constants = roles_of({role: names for role, names in _NAMES.items() if role not in ("step", *own)}, read)
    return {**constants, **own}
