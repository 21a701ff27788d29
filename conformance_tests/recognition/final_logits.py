"""What becomes of a model's last logits: a cap c·tanh(z/c), or a factor, held against what its configuration says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import module_of, stated_under

_NAMES = re.compile(r"^(final_)?(logits?|output)_?(soft_?cap(ping)?|cap)$|^final_soft_?cap(ping)?$|^soft_?cap$", re.I)
# Cohere multiplies by it, and Granite divides.
_FACTORS = re.compile(r"^(logits?_scale|logits?_multiplier|output_multiplier)$", re.I)
_DIVISORS = re.compile(r"^logits?_scaling$", re.I)
_NEAR = 1e-3


@dataclass(frozen=True)
class FinalCap:
    """Logits z that become `outer` · tanh(`inner` · z), and the step of the tangent."""

    outer: float
    inner: float
    place: int

    @property
    def keeps_small_ones(self) -> bool:
        """Whether logits near zero stay what they are, as with c·tanh(z/c)."""
        return abs(self.outer * self.inner - 1.0) <= _NEAR

    @property
    def words(self) -> str:
        """What a model does to its logits."""
        if self.keeps_small_ones:
            return f"logits capped at ±{self.outer:.4g}"
        return f"logits z become {_number(self.outer)}tanh({_number(self.inner)}z)"


def final_cap(model: ModelReading, one: LinearMap) -> FinalCap | None:
    """Return the cap of the logits that a map gives; None where the model does something else to them, or nothing."""
    flow = model.flow
    if not model.trace.outputs:
        return None
    output, unit = model.trace.outputs[0], flow.unit_between(one.output, model.trace.outputs[0])
    for index in flow.between(one.output, output):
        step = flow.steps[index]
        if "tanh" not in step.operation.lower() or len(step.operands) != 1:
            continue
        given, made = flow.array(step.operands[0]), flow.array(step.results[0])
        inner = _factor(flow.array(one.output), given, unit)
        outer = _factor(made, flow.array(output), unit)
        return None if inner is None or outer is None else FinalCap(outer, inner, index)
    return None


def final_factor(model: ModelReading, one: LinearMap) -> float | None:
    """Return the number that the logits of a map are multiplied by; None where the model returns something else."""
    if not model.trace.outputs:
        return None
    output = model.trace.outputs[0]
    return _factor(model.flow.array(one.output), model.flow.array(output), model.flow.unit_between(one.output, output))


def departures_of_final_logits(model: ModelReading) -> Iterator[Departure]:
    """Yield a factor of the logits, or one of the factors of their cap, that is not the one that is stated."""
    for one in model.ends[-1:]:
        found = _of_factor(model, one) or _of_cap(model, one)
        if found is not None:
            place, sentence = found
            item = Suspicion("unembedding", place, sentence, ())
            yield departure(model, module_of(one), None, "unembedding", item)


def _of_factor(model: ModelReading, one: LinearMap) -> tuple[int, str] | None:
    """Return that logits are divided by what is stated as their factor, or not multiplied by it, and the step."""
    found = final_factor(model, one)
    if found is None:
        return None
    for name, value, wanted in _stated_factors(model):
        if np.isclose(found, wanted, _NEAR) or not np.isclose(found, (1.0, 1.0 / wanted), _NEAR).any():
            continue
        done = "not multiplied" if np.isclose(found, 1.0, _NEAR) else f"multiplied by {found:.4g}, not"
        sentence = f"the configuration says that {name} is {value:g}, and the logits are {done} by {wanted:.4g}"
        return model.flow.maker(model.trace.outputs[0]) or one.step, sentence
    return None


def _of_cap(model: ModelReading, one: LinearMap) -> tuple[int, str] | None:
    """Return that a cap that is stated, or one of its factors, is missing, and the step of the tangent."""
    found = final_cap(model, one)
    stated = {name: value for name, value in stated_under(model, _NAMES).items() if _is_cap(value)}
    if found is None and stated and final_factor(model, one) == 1.0 and _gives_tokens(model, one):
        name, value = next(iter(stated.items()))
        return one.step, f"the configuration says that {name} is {value:g}, and the logits have no cap"
    if found is None or found.keeps_small_ones:
        return None
    for name, value in stated.items():
        if missing := _missing(found, value):
            return found.place, f"the configuration says that {name} is {value:g}, and {found.words}: {missing}"
    return None


def _is_cap(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _gives_tokens(model: ModelReading, one: LinearMap) -> bool:
    """Return whether a map has a column for each row of a table of tokens: the head of a language model."""
    tables = [table for table in model.maps.lookups if not model.flow.is_fixed(table.rows)]
    return model.maps.width_out(one) in {model.flow.shape(table.table)[0] for table in tables}


def _stated_factors(model: ModelReading) -> Iterator[tuple[str, float, float]]:
    """Yield what is stated of the logits' factor: its name, the number, and the factor that it stands for."""
    for names, is_divisor in ((_FACTORS, False), (_DIVISORS, True)):
        for name, value in stated_under(model, names).items():
            if isinstance(value, int | float) and value not in (0, 1, True):
                yield name, float(value), 1.0 / value if is_divisor else float(value)


def _missing(found: FinalCap, cap: float) -> str:
    """Return which of the two factors of a cap is not there; empty where numbers do not say so."""
    if np.isclose(cap, found.outer, _NEAR):
        return f"they are not divided by {cap:g} before the tanh"
    return f"the tanh is not multiplied by {cap:g}" if np.isclose(cap * found.inner, 1.0, _NEAR) else ""


def agreements_of_final_logits(model: ModelReading) -> Iterator[str]:
    """Yield what a configuration states of the last logits that the model does."""
    for one in model.ends[-1:]:
        for name, value, wanted in _stated_factors(model):
            factor = final_factor(model, one)
            if factor is not None and np.isclose(factor, wanted, _NEAR):
                yield f"{name} {value:g}"
        found = final_cap(model, one)
        if found is not None and found.keeps_small_ones:
            for name, cap in stated_under(model, _NAMES).items():
                if isinstance(cap, int | float) and np.isclose(cap, found.outer, _NEAR):
                    yield f"{name} {cap:g}"


def _factor(before: np.ndarray, after: np.ndarray, unit: float) -> float | None:
    if before.size != after.size:
        return None
    if np.array_equal(before.ravel(), after.ravel()):
        return 1.0
    return factor_of(before, after, unit)


def _number(factor: float) -> str:
    return "" if abs(factor - 1.0) <= _NEAR else f"{factor:.4g}·"
