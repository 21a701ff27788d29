"""A program of JAX, run equation by equation with concrete arrays; every equation becomes a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from veriformer.adapters.capture.jax_kinds import IDENTITIES, OPAQUE, attributes_of, computes, kind_of
from veriformer.adapters.capture.jax_places import Place, place_of
from veriformer.adapters.capture.jax_widening import Widening
from veriformer.adapters.capture.numbers import in_double
from veriformer.adapters.capture.recorder import NOTHING, Recorder
from veriformer.adapters.capture.trace import Kind, Origin
from veriformer.adapters.capture.weights import Array

# Equations that call a function, with the parameter that has it. The call itself is no step.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "core_closed_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call",
    "custom_lin": "call_jaxpr",
}
# What the result of an equation is called that nothing uses.
_UNUSED = -1

Indices = list[int]


class Interpreter:
    """Runs equations and records them; an array is known by its index among the recorded values."""

    def __init__(self, recorder: Recorder, widening: Widening) -> None:
        self.recorder = recorder
        self._widening = widening
        self._arrays: dict[int, Any] = {}
        # The arrays are kept with their indices, so that no other one takes their identity.
        self._constants: dict[int, tuple[Any, int]] = {}
        self._literals: dict[tuple[str, str], int] = {}
        self._control: dict[str, Callable[[Any, Indices, Place], Indices]] = {
            "scan": self._scan,
            "while": self._while,
            "cond": self._cond,
        }

    def enter(self, array: Any, origin: Origin, name: str = "", aliases: tuple[str, ...] = ()) -> int:
        """Add an array that no equation made, in the dtype that it has in the pass, and return its index."""
        if self._widening.includes(getattr(array, "dtype", np.dtype(object))):
            wide, is_exact = in_double(as_numpy(array))
            if not is_exact:
                self.recorder.computes_in(np.dtype(array.dtype))
            array = jnp.asarray(wide)
        index = self.recorder.add(as_numpy(array), origin, name, aliases)
        self._arrays[index] = array
        return index

    def run_closed(self, closed: Any, arguments: Indices, place: Place) -> Indices:
        """Run a program with its constants and return the indices of its results."""
        # A checkpointed function has no constants of its own.
        consts = getattr(closed, "consts", ())
        jaxpr = closed.jaxpr if hasattr(closed, "consts") else closed
        return self._run(jaxpr, [self._constant(value) for value in consts], arguments, place)

    def _run(self, jaxpr: Any, consts: Indices, arguments: Indices, outer: Place) -> Indices:
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

        def read(atom: Any) -> int:
            return self._literal(atom) if hasattr(atom, "val") else known[atom]

        for equation in jaxpr.eqns:
            operands = [read(atom) for atom in equation.invars]
            results = self._equation(equation, operands, place_of(equation, outer))
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, operands: Indices, place: Place) -> Indices:
        name = equation.primitive.name
        if name in _CALLS and _CALLS[name] in equation.params:
            return self.run_closed(equation.params[_CALLS[name]], operands, place)
        if name in self._control:
            return self._control[name](equation, operands, place)
        if not equation.outvars:
            # A message or a check in between: nothing is computed with it.
            return []
        if self._is_identity(equation, operands):
            return operands
        return self._bind(equation, operands, place)

    def _is_identity(self, equation: Any, operands: Indices) -> bool:
        if equation.primitive.name != "convert_element_type":
            return equation.primitive.name in IDENTITIES
        old, new = self._arrays[operands[0]].dtype, equation.params["new_dtype"]
        return bool(old == (np.float64 if self._widening.includes(new) else new))

    def _bind(self, equation: Any, operands: Indices, place: Place) -> Indices:
        primitive = equation.primitive
        arrays = self._widening.operands(equation, [self._arrays[index] for index in operands])
        with equation.ctx.manager:
            made = primitive.bind(*arrays, **primitive.get_bind_params(self._widening.parameters(equation)))
        made = list(made) if primitive.multiple_results else [made]
        if computes(equation):
            for array in made:
                if not _is_key(array):
                    self.recorder.computes_in(np.dtype(array.dtype))
        if primitive.name in OPAQUE:
            self.recorder.opaque[place.module] = f"{primitive.name} runs a function whose steps JAX does not show"
        return self._step(primitive.name, kind_of(equation), operands, made, place, attributes_of(equation))

    def _step(
        self,
        operation: str,
        kind: Kind,
        operands: Indices,
        made: Sequence[Any],
        place: Place,
        attributes: Mapping[str, Any] = NOTHING,
    ) -> Indices:
        indices = self.recorder.step(
            operation,
            kind,
            operands,
            [as_numpy(array) for array in made],
            module=place.module,
            file=place.file,
            line=place.line,
            attributes=attributes,
        )
        self._arrays.update(zip(indices, made, strict=True))
        return list(indices)

    def _scan(self, equation: Any, operands: Indices, place: Place) -> Indices:
        params = equation.params
        first, carried = params["num_consts"], params["num_carry"]
        consts, state, sequences = operands[:first], operands[first : first + carried], operands[first + carried :]
        turns = range(params["length"])
        stacked: list[Indices] = []
        for turn in reversed(turns) if params["reverse"] else turns:
            slices = [self._slice(sequence, turn, place) for sequence in sequences]
            results = self.run_closed(params["jaxpr"], [*consts, *state, *slices], place)
            state = results[:carried]
            stacked.append(results[carried:])
        if params["reverse"]:
            stacked.reverse()
        outputs = equation.outvars[carried:]
        return [*state, *(self._stack(out, [turn[i] for turn in stacked], place) for i, out in enumerate(outputs))]

    def _slice(self, sequence: int, turn: int, place: Place) -> int:
        array = self._arrays[sequence]
        # By NumPy, because JAX would compile a program for every turn.
        part = array[turn] if _is_key(array) else jnp.asarray(np.asarray(array)[turn])
        return self._step("scan_slice", Kind.REARRANGEMENT, [sequence], [part], place)[0]

    def _stack(self, variable: Any, parts: Indices, place: Place) -> int:
        if type(variable).__name__ == "DropVar":
            return _UNUSED
        if not parts:
            return self._constant(jnp.zeros(variable.aval.shape, variable.aval.dtype))
        arrays = [self._arrays[part] for part in parts]
        whole = jnp.stack(arrays) if _is_key(arrays[0]) else jnp.asarray(np.stack([np.asarray(a) for a in arrays]))
        return self._step("scan_stack", Kind.REARRANGEMENT, parts, [whole], place)[0]

    def _while(self, equation: Any, operands: Indices, place: Place) -> Indices:
        params = equation.params
        first = params["cond_nconsts"]
        second = first + params["body_nconsts"]
        of_condition, of_body, state = operands[:first], operands[first:second], operands[second:]
        while bool(self._arrays[self.run_closed(params["cond_jaxpr"], [*of_condition, *state], place)[0]]):
            state = self.run_closed(params["body_jaxpr"], [*of_body, *state], place)
        return state

    def _cond(self, equation: Any, operands: Indices, place: Place) -> Indices:
        branches = equation.params["branches"]
        chosen = min(max(int(self._arrays[operands[0]]), 0), len(branches) - 1)
        return self.run_closed(branches[chosen], operands[1:], place)

    def _constant(self, array: Any) -> int:
        if id(array) not in self._constants:
            self._constants[id(array)] = (array, self.enter(array, "constant"))
        return self._constants[id(array)][1]

    def _literal(self, literal: Any) -> int:
        key = (str(literal.aval), repr(literal.val))
        if key not in self._literals:
            self._literals[key] = self.enter(literal.val, "constant")
        return self._literals[key]


def as_numpy(array: Any) -> Array:
    """Return an array of JAX as one of NumPy, without a copy where there is no need; the key of a generator as data."""
    return np.asarray(jax.random.key_data(array) if _is_key(array) else array)


def _is_key(array: Any) -> bool:
    return isinstance(array, jax.Array) and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)
