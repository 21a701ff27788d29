"""The global state of a process, compared before and after each call: a call must restore what it changes.

The functions that read it are imported before the implementation, which may replace them.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from ctypes import string_at
from dataclasses import dataclass
from os import chdir, getcwd
from typing import Any

from numpy import geterr, seterr

_MOST_NAMES = 5
# The bytes of a Mersenne Twister: 624 numbers and a position, of 32 bits each.
_MERSENNE_TWISTER = 625 * 4
# In the system's encoding: decoding them twice for each call took longer than most calls.
_VARIABLES: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)


@dataclass(frozen=True)
class State:
    """The state that calls must leave unchanged."""

    errors: dict[str, Any]
    folder: str | None
    environment: Mapping[Any, Any]
    torch_dtype: Any
    modules: int


class Watch:
    """Compares the state of the process around calls and restores it; `changed` names what calls have changed."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self._calls = 0
        self._left: dict[str, set[int]] = {}

    def before(self) -> State:
        """Return the state, after seeding the random number generators as for no call before."""
        self._calls += 1
        for generator in _generators():
            generator.seed(self._calls)
        return _state()

    def after(self, before: State, *, may_seed: bool = False) -> None:
        """Note what differs from the state before, and restore it.

        An operation with a seed among its arguments may seed a global generator, as its users do.
        """
        now = _state()
        self.changed += _differences(before, now)
        if self.changed:
            _put_back(before)
        for generator in _generators():
            # Drawing numbers advances a generator from its own state; only seeding leads to the same state twice.
            left = self._left.setdefault(generator.name, set())
            state = generator.state()
            if state in left and not may_seed:
                self.changed.append(f"the random state of {generator.name} (by seeding it)")
            left.add(state)


class Watched:
    """An operation, with the state of the process compared around each call."""

    def __init__(self, function: Callable[..., Any], watch: Watch, *, may_seed: bool = False) -> None:
        self._function = function
        self._watch = watch
        self._may_seed = may_seed

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the operation returns."""
        before = self._watch.before()
        try:
            return self._function(*arguments, **keywords)
        finally:
            self._watch.after(before, may_seed=self._may_seed)


@dataclass(frozen=True)
class _Generator:
    """A global random number generator."""

    name: str
    seed: Callable[[int], Any]
    state: Callable[[], int]


def _generators() -> Iterator[_Generator]:
    yield _Generator("random", random.seed, lambda: hash(random.getstate()))
    if (numpy_random := sys.modules.get("numpy.random")) is not None:
        yield _Generator("numpy.random", numpy_random.seed, lambda: _numpy_state(numpy_random))
    # An import that failed may have left a part of torch behind.
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "default_generator"):
        drawn = torch.default_generator
        yield _Generator("torch", drawn.manual_seed, lambda: hash(bytes(drawn.get_state().numpy())))


def _numpy_state(module: Any) -> int:
    # `get_state` makes 624 objects of the state's numbers, which takes longer than many a call; their bytes lie in one
    # piece. Other generators than the usual one may be set as the global one.
    generator = module.get_bit_generator()
    if type(generator).__name__ == "MT19937":
        return hash(string_at(generator.ctypes.state_address, _MERSENNE_TWISTER))
    return hash(repr(module.get_state(legacy=False)))


def _state() -> State:
    torch = sys.modules.get("torch")
    dtype = torch.get_default_dtype() if torch is not None and hasattr(torch, "get_default_dtype") else None
    return State(dict(geterr()), _folder(), dict(_VARIABLES), dtype, len(sys.modules))


def _folder() -> str | None:
    try:
        return getcwd()
    except OSError:
        return None


def _differences(before: State, now: State) -> list[str]:
    changed = ["NumPy's error state"] if before.errors != now.errors else []
    changed += ["the working directory"] if before.folder != now.folder else []
    # A library may set variables when it is imported, and imported during a call.
    if before.environment != now.environment and before.modules == now.modules:
        pairs = before.environment.items() ^ now.environment.items()
        names = sorted({os.fsdecode(name) for name, _ in pairs})
        changed.append(f"the environment ({', '.join(names[:_MOST_NAMES])})")
    if before.torch_dtype is not None and before.torch_dtype != now.torch_dtype:
        changed.append("torch's default dtype")
    return changed


def _put_back(before: State) -> None:
    seterr(**before.errors)
    if before.folder is not None:
        with suppress(OSError):
            chdir(before.folder)
    if before.environment != _VARIABLES:
        os.environ.clear()
        os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in before.environment.items()})
    if before.torch_dtype is not None:
        sys.modules["torch"].set_default_dtype(before.torch_dtype)
