"""Steps of Adam and AdamW as people write them: functions of moments or of a state, and classes that keep them.

A state is what the function or class makes of it in its own first step, with other moments and another count put in;
that this is the whole state is seen by a run of three steps, which must give what such a state gives.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded, parameters_of
from veriformer.adapters.matching.namespaces import reshaped, shape_of
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.trees import arrays_in, copied, exchanged, leaves, names_on
from veriformer.adapters.matching.wired import DoesNotFit, Wired, roles_of

ADAMW = "adamw_step"
_PARAMETERS = "params param p parameters parameter theta w x weights weight"
_GRADIENTS = "grads grad g gradients gradient dw dtheta gradparams"
_FIRST = "m expavg expavgs mu firstmoment ms mt moment1 m1 mean avg firstmoments expavglist"
_SECOND = "v expavgsq expavgsqs nu secondmoment vs vt moment2 v1 m2 sqavg secondmoments variance expavgsqlist"
_COUNTS = (
    "t step steps count i it iter iteration iterations k n timestep stepcount numsteps stepnum steptensor tstep nsteps"
)
_NAMES: Mapping[str, str] = {
    "parameter": _PARAMETERS,
    "gradient": _GRADIENTS,
    "first_moment": _FIRST,
    "second_moment": _SECOND,
    "step": _COUNTS,
    "state": "state optstate optimizerstate s opt optimstate adamstate",
}
_SETTINGS: Mapping[str, str] = {
    "learning_rate": "lr learningrate eta alpha stepsize rate",
    "betas": "betas beta",
    "beta1": "beta1 b1",
    "beta2": "beta2 b2",
    "eps": "eps epsilon",
    "weight_decay": "weightdecay wd decay lambd lambda weightdecayrate lam decayrate",
}
_METHODS = ("step", "update", "apply", "updateparams", "optimize", "applygradients", "__call__")
_BUILDERS = ("init", "initstate", "initadam", "initadamw", "adaminit", "adamwinit", "initoptimizer", "initoptstate")
_OF_BUILDERS = (*_BUILDERS, "initializeadam", "makestate", "createstate", "newstate", "zerostate", "initadamstate")
_ADAM = re.compile(r"(?<![nrd])adamw?(?!ax|factor|amini)")
# As nanoGPT has it: biases and gains do not decay.
_MATRICES_ALONE = re.compile(r"(\bndim\b|\bdim\(\)|len\([\w.\[\]]*shape\))\s*(>=\s*2|>\s*1)")
# By what gradients are clipped before a step, which an operation of its own does.
_LIMITS = re.compile(r"^(max_(grad_)?norm|(grad(ient)?_)?clip(_norm|_value|ping)?|clip_?grad(_norm)?|max_grad)$")
_NO_LIMIT = 1e9
Held = Callable[[Any], Any]
_CONTAINERS: tuple[Held, ...] = (lambda one: one, lambda one: [one], lambda one: {"w": one})
# An object that keeps several parameters has another one beside it: each is to be moved as alone.
_BESIDE: tuple[Held, ...] = (
    lambda one: [one, _companion(one)],
    lambda one: {"w": one, "b": _companion(one)},
)


def operations(function: Any, name: str) -> Iterator[str]:
    """Yield the operation where a function or a class is called Adam, or has its moments and shares."""
    parameters = [one.name for one in parameters_of(function) or []]
    settings, roles = roles_of(_SETTINGS, parameters), roles_of(_NAMES, parameters)
    if isinstance(function, type):
        if _ADAM.search(folded(name)) and _methods(function):
            yield ADAMW
        return
    kept = "state" in roles or {"first_moment", "second_moment"} <= {*roles}
    shares = bool(_ADAM.search(folded(name))) or bool({"beta2", "betas"} & {*settings})
    if {"parameter", "gradient"} <= {*roles} and kept and shares and "learning_rate" in settings:
        yield ADAMW


def classes_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the optimizers that a module has written itself, by their names."""
    return {
        name: kind
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and [*operations(kind, name)]
    }


def probes(_: str) -> list[dict[str, Any]]:
    """Return the arguments of steps that are not the first, and of a first one."""
    numbers = np.random.default_rng(4)
    drawn = [numbers.standard_normal((3, 4)) for _ in range(3)]
    arrays = dict(zip(("parameter", "gradient", "first_moment"), drawn, strict=True))
    settings = {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.3}
    nothing = np.zeros((3, 4))
    return [
        {**arrays, "second_moment": drawn[0] ** 2 + 0.1, "step": 3, **settings},
        {**arrays, "first_moment": nothing, "second_moment": nothing, "step": 1, **settings},
    ]


def forms(function: Any, operation: str) -> Iterator[Wired]:
    """Yield the forms of a step of Adam; DoesNotFit where something that it needs has no name that is known."""
    takings = parameters_of(function) or []
    settings = roles_of(_SETTINGS, [one.name for one in takings])
    known = {*settings, *_of_methods(function)}
    lacking = [one for one in ("learning_rate", "eps") if one not in known]
    if "betas" not in known:
        lacking += [one for one in ("beta1", "beta2") if one not in known]
    if lacking:
        raise DoesNotFit(f"nothing is {', '.join(lacking)}")
    is_adamw = "adamw" in folded(getattr(function, "__name__", "")) or "adamw" in (source_of(function) or "").casefold()
    decays = ((True,) if is_adamw else (True, False)) if "weight_decay" in settings else (False,)
    maker = _of_class if isinstance(function, type) else _of_function
    for decay in decays:
        words: tuple[str, ...] = () if decay else ("without weight decay, which is added",)
        limits = [one.name for one in takings if isinstance(function, type) and _LIMITS.match(one.name)]
        words += tuple(f"`{name}` so large that nothing is clipped" for name in limits)
        beside = _BESIDE if isinstance(function, type) else ()
        for held in (*_CONTAINERS[:1], *beside, *_CONTAINERS[1:]):
            for way in maker(function, settings, held, decay):
                yield Wired(
                    operation,
                    {},
                    wiring=partial(_decayed, way.step, decay),
                    words=(*words, *way.words),
                    is_sound=way.is_whole,
                    last_resort=bool(beside) and held in _CONTAINERS[1:],
                    # The decay of what is only called Adam may go through the moments.
                    exact_only=decay and not is_adamw,
                )


def _of_methods(kind: Any) -> dict[str, str]:
    """Return the settings that the methods of a class are given at each step."""
    names = _methods(kind) if isinstance(kind, type) else []
    takings = [one.name for name in names for one in parameters_of(getattr(kind, name)) or []]
    return roles_of(_SETTINGS, takings)


@dataclass(frozen=True)
class _Way:
    """How a step is taken, in some words, and whether what is set is its whole state."""

    step: Callable[[Any, Arguments], Any]
    words: tuple[str, ...] = ()
    is_whole: Callable[[Any, Arguments], bool] = lambda *_: True


def _way_of_states(stepped: Callable[[Any, Arguments], _Stepped]) -> _Way:
    return _Way(
        lambda function, given: stepped(function, given).taken(given),
        ("its state is set before each step",),
        lambda function, given: stepped(function, given).is_whole(given),
    )


def _decayed(step: Callable[..., Any], decay: bool, function: Any, given: Arguments) -> Any:
    parameter, first, second = _as_matrices(step, function, given) if decay else step(function, given)
    if not decay:
        # Decay goes through no moment, so that it can be added to what a step without it gives.
        parameter = parameter - given["learning_rate"] * given["weight_decay"] * given["parameter"]
    return parameter, first, second


def _as_matrices(step: Callable[..., Any], function: Any, given: Arguments) -> Any:
    """Return what a step gives; one that lets matrices alone decay is given vectors as matrices of one column."""
    if not _MATRICES_ALONE.search(source_of(function) or "") or len(shape_of(given["parameter"])) != 1:
        return step(function, given)
    names = ("parameter", "gradient", "first_moment", "second_moment")
    columns = {name: reshaped(given[name], (*shape_of(given[name]), 1)) for name in names}
    return tuple(reshaped(one, shape_of(given["parameter"])) for one in step(function, {**given, **columns}))


def _given(settings: Mapping[str, str], given: Arguments, decay: bool) -> dict[str, Any]:
    values = {**given, "betas": (given["beta1"], given["beta2"]), "weight_decay": given["weight_decay"] * decay}
    return {name: values[role] for role, name in settings.items()}


# --- functions --------------------------------------------------------------------------------------------------------


def _of_function(function: Any, settings: Mapping[str, str], held: Held, decay: bool) -> Iterator[_Way]:
    takings = parameters_of(function) or []
    roles = roles_of(_NAMES, [one.name for one in takings])
    unknown = [
        one.name for one in takings if not one.has_default and one.name not in (*roles.values(), *settings.values())
    ]
    if unknown:
        raise DoesNotFit(f"nothing of the operation is its {', '.join(unknown)}")
    if {"first_moment", "second_moment", "step"} <= {*roles}:
        yield _Way(partial(_of_moments, roles, settings, held, decay, 0))
        yield _Way(partial(_of_moments, roles, settings, held, decay, -1), ("steps counted from 0",))
    elif "state" in roles:
        yield _way_of_states(partial(_of_state, roles, settings, held, decay))
    else:
        raise DoesNotFit("nothing is first_moment, second_moment, step")


def _of_moments(
    roles: Mapping[str, str],
    settings: Mapping[str, str],
    held: Held,
    decay: bool,
    shift: int,
    function: Any,
    given: Arguments,
) -> Any:
    names = ("parameter", "gradient", "first_moment", "second_moment")
    arrays = {name: held(copied(given[name])) for name in names}
    arguments = {roles[name]: value for name, value in arrays.items()}
    arguments[roles["step"]] = given["step"] + shift
    returned = function(**arguments, **_given(settings, given, decay))
    moments = ("parameter", "first_moment", "second_moment")
    shape = shape_of(given["parameter"])
    found = arrays_in(returned, shape) if returned is not None else []
    changed = [arrays_in(arrays[name], shape)[0] for name in moments]
    return (*found, *changed[len(found) :])[: len(moments)]


def _of_state(
    roles: Mapping[str, str], settings: Mapping[str, str], held: Held, decay: bool, function: Any, given: Arguments
) -> _Stepped:
    def step(parameter: Any, gradient: Any, state: Any, settings_given: Arguments) -> tuple[Any, Any]:
        parameters, gradients = held(copied(parameter)), held(copied(gradient))
        count = {roles["step"]: settings_given["step"]} if "step" in roles else {}
        returned = function(
            **{roles["parameter"]: parameters, roles["gradient"]: gradients, roles["state"]: state},
            **count,
            **_given(settings, settings_given, decay),
        )
        parts = returned if type(returned) is tuple else (returned,)
        states = [one for one in parts if _places(one)]
        others = [one for one in parts if not _places(one) and arrays_in(one, shape_of(parameter))]
        new = arrays_in(others[0] if others else parameters, shape_of(parameter))[0]
        return new, states[0] if states else state

    return _Stepped(step, lambda: _fresh(function, held(copied(given["parameter"]))), counts="step" not in roles)


def _fresh(function: Any, parameters: Any) -> Any:
    """Return the state before the first step: what the module's own function makes, else an empty mapping.

    What a function reads of that without having put it there is what its caller begins with: no steps and no moments.
    """
    bound = getattr(inspect.unwrap(function), "__globals__", {})
    build = next((value for name, value in bound.items() if folded(name) in _OF_BUILDERS and callable(value)), None)
    return _Beginning(parameters) if build is None else build(parameters)


class _Beginning(dict[str, Any]):
    """A state that has its moments and its count from the first time on that they are read."""

    def __init__(self, parameters: Any) -> None:
        super().__init__()
        self._parameters = parameters

    def __missing__(self, key: str) -> Any:
        if _is_called((key,), _COUNTS):
            self[key] = 0
        elif _is_called((key,), _FIRST) or _is_called((key,), _SECOND):
            self[key] = exchanged(copy.copy(self._parameters), lambda _, one: one * 0)
        else:
            raise KeyError(key)
        return self[key]


# --- classes ----------------------------------------------------------------------------------------------------------


def _methods(kind: type) -> list[str]:
    names = [name for one in kind.__mro__ for name in vars(one) if one is not object]
    own = [name for name in names if folded(name) in _METHODS and name in vars(kind)]
    return sorted(dict.fromkeys(own), key=lambda name: _METHODS.index(folded(name)))


def _of_class(kind: type, settings: Mapping[str, str], held: Held, decay: bool) -> Iterator[_Way]:
    for method in _methods(kind):
        yield _way_of_states(partial(_of_object, method, settings, held, decay))


def _of_object(
    method: str, settings: Mapping[str, str], held: Held, decay: bool, kind: type, given: Arguments
) -> _Stepped:
    shape = shape_of(given["parameter"])

    def step(parameter: Any, gradient: Any, made: Any, settings_given: Arguments) -> tuple[Any, Any]:
        optimizer, own = made
        names = [one.name for one in parameters_of(getattr(optimizer, method)) or []]
        takes, its_settings = roles_of(_NAMES, names), roles_of(_SETTINGS, names)
        own = _put(own, parameter, gradient)
        parameters = held(copied(parameter))
        arguments = {
            **({takes["parameter"]: parameters} if "parameter" in takes else {}),
            **({takes["gradient"]: held(copied(gradient))} if "gradient" in takes else {}),
            **_given(its_settings, settings_given, decay),
        }
        returned = getattr(optimizer, method)(**arguments)
        found = arrays_in(returned, shape) if returned is not None else []
        changed = parameters if "parameter" in takes else own
        return copied((found or arrays_in(_data(changed), shape))[0]), (optimizer, own)

    def fresh() -> Any:
        constructor = parameters_of(kind) or []
        roles = roles_of({"parameter": _PARAMETERS}, [one.name for one in constructor])
        own = held(_leaf(copied(given["parameter"])))
        first = {roles["parameter"]: own} if "parameter" in roles else {}
        unlimited = {one.name: _NO_LIMIT for one in constructor if _LIMITS.match(one.name)}
        return kind(**first, **_given(settings, given, decay), **unlimited), own

    return _Stepped(step, fresh)


def _leaf(array: Any) -> Any:
    torch = sys.modules.get("torch")
    return torch.nn.Parameter(array) if torch is not None and isinstance(array, torch.Tensor) else array


def _data(own: Any) -> Any:
    return exchanged(
        list(own) if isinstance(own, list) else own, lambda _, one: one.detach() if hasattr(one, "detach") else one
    )


def _put(own: Any, parameter: Any, gradient: Any) -> Any:
    """Give the parameters that an optimizer holds a value and a gradient."""
    for _, one in leaves(own):
        if hasattr(one, "detach"):
            one.data = copied(reshaped(parameter, shape_of(one)))
            one.grad = copied(reshaped(gradient, shape_of(one)))
        elif hasattr(one, "shape") and type(one).__module__ == "numpy":
            one[...] = reshaped(parameter, shape_of(one))
    return own


def _companion(array: Any) -> Any:
    """Return another parameter, or gradient, with the same numbers in another shape."""
    other = reshaped(copied(array), (1, *shape_of(array)))
    return _leaf(other) if type(array).__name__ == "Parameter" else other


# --- states -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stepped:
    """Steps with a state that is set before each: `step` returns the parameter and the state, `fresh` a new state.

    Whether the state `counts` the steps; else each is given its number.
    """

    step: Callable[[Any, Any, Any, Arguments], tuple[Any, Any]]
    fresh: Callable[[], Any]
    counts: bool = True

    def taken(self, given: Arguments) -> tuple[Any, Any, Any]:
        """Return the parameter and the moments after a step from the moments and the count that are given."""
        _, state = self.step(given["parameter"], given["gradient"], self.fresh(), given)
        state = _set(state, given, self.counts)
        parameter, state = self.step(given["parameter"], given["gradient"], state, given)
        first, second = (_leaf_called(state, names, given) for names in (_FIRST, _SECOND))
        return parameter, copied(first), copied(second)

    def is_whole(self, given: Arguments) -> bool:
        """Return whether the moments and the count are all that three steps leave behind."""
        parameter, gradient, state = given["parameter"], given["gradient"], self.fresh()
        for count, factor in enumerate((1.0, -0.5), start=1):
            parameter, state = self.step(parameter, gradient * factor, state, {**given, "step": count})
        first, second = (copied(_leaf_called(state, names, given)) for names in (_FIRST, _SECOND))
        expected, _ = self.step(parameter, gradient, state, {**given, "step": 3})
        again = {**given, "parameter": parameter, "first_moment": first, "second_moment": second, "step": 3}
        got, _, _ = self.taken(again)
        # What is no number, as the root of a negative moment, tells nothing.
        return not bool((abs(got - expected) > 1e-4 * abs(expected) + 1e-6).any())


def _places(state: Any) -> bool:
    """Return whether a tree has something that is called a second moment."""
    return any({*names_on(path)} & {*_SECOND.split()} for path, _ in leaves(state))


def _is_called(path: tuple[Any, ...], names: str) -> bool:
    return any(one in names.split() for one in names_on(path)[:2])


def _leaf_called(state: Any, names: str, given: Arguments) -> Any:
    shape = shape_of(given["parameter"])
    found = [one for path, one in leaves(_state_of(state)) if _is_called(path, names) and shape_of(one) == shape]
    if not found:
        raise DoesNotFit("what it keeps has no moments of a known name")
    return found[0]


def _state_of(state: Any) -> Any:
    """Return what an optimizer keeps, without what it was built for."""
    if isinstance(state, tuple) and len(state) == len(("optimizer", "own")) and not hasattr(state, "_fields"):
        optimizer = state[0]
        kept = getattr(optimizer, "state", None)
        if isinstance(kept, Mapping) and kept:
            return list(kept.values())
        return {
            name: one
            for name, one in vars(optimizer).items()
            if folded(name) not in (*_PARAMETERS.split(), "paramgroups", "defaults")
        }
    return state


def _set(state: Any, given: Arguments, counts: bool) -> Any:
    """Return a state after one step with other moments, and with the count of a step before the one that is given."""
    shape, found = shape_of(given["parameter"]), []

    def change(path: tuple[Any, ...], one: Any) -> Any:
        if hasattr(one, "shape") and shape_of(one) == shape and shape:
            for names, role in ((_FIRST, "first_moment"), (_SECOND, "second_moment")):
                if _is_called(path, names):
                    found.append(role)
                    return copied(given[role])
        elif {*names_on(path)[:1]} & {*_COUNTS.split()} and (isinstance(one, int | float) or shape_of(one) == ()):
            found.append("step")
            return one + (given["step"] - 2)
        return one

    kept = _state_of(state)
    new = exchanged(kept, change)
    if not {"first_moment", "second_moment", *(["step"] if counts else [])} <= {*found}:
        raise DoesNotFit("what it keeps has no moments and count of known names")
    if kept is state:
        return new
    if isinstance(kept, dict):
        for name, one in new.items():
            setattr(state[0], name, one)
    return state
