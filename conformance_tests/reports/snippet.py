"""A script that repeats a violation with nothing but the implementation and its framework."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer.adapters.weights import names_in_configuration
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.subject import CallRecord, EarlierCache
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.arguments import members, same
from veriformer.conformance_tests.reports.differentiation import derived_call
from veriformer.conformance_tests.reports.literals import NOTATIONS, Notation, nested
from veriformer.conformance_tests.reports.selections import parts, selected
from veriformer.conformance_tests.reports.sources import is_file, loading
from veriformer.spec.operations import OPERATIONS, Operation

STANDARD: Mapping[str, str] = MappingProxyType({})
_DIGITS = 7
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")

# Every second element of a larger buffer, transposed: the view that the law about memory layouts passes.
_STRIDED = {
    "numpy": ("def strided(x):", "    return np.repeat(x.T, 2, axis=-1)[..., ::2].T"),
    "torch": (
        "def strided(x):",
        "    axes = tuple(reversed(range(x.ndim)))",
        "    return x.permute(axes).repeat_interleave(2, dim=-1)[..., ::2].permute(axes)",
    ),
    "cupy": ("def strided(x):", "    return cp.repeat(x.T, 2, axis=-1)[..., ::2].T"),
}
_SHOWING_NO_STRIDES = ("def strided(x):", "    return x")


def reproduce(
    report_source: str | None,
    framework: str,
    counterexample: Counterexample,
    *,
    conventions: Mapping[str, str] = STANDARD,
    law: str = "",
    taken_as: Mapping[str, str] = STANDARD,
) -> str:
    """Return a runnable script that makes the calls of a counterexample and prints the results and what is expected.

    It is empty where a counterexample has no call.

    `report_source`: what the implementation was loaded from, "file.py", "file.py:object" or an import path; None leaves
        a line to fill in.
    `conventions`: those of the operation. Arguments are written in the canonical layout and polarity, and converted
        visibly where the implementation has another.
    `law`: the law's id.
    `taken_as`: the operations that functions of other names or forms were taken for, by the names of the functions.

    Nothing of Veriformer is imported unless the implementation is a built-in one, or a function has a form of its own,
    which Veriformer knows.
    """
    if not counterexample.calls:
        return ""
    forms = {name: one for name, one in taken_as.items() if one in _called(counterexample)}
    return _Script(report_source, framework, counterexample, conventions, law, forms).text()


def _called(counterexample: Counterexample) -> set[str]:
    """Return the operations that the calls of a counterexample make, those of which are differentiated among them."""
    return {name for call in counterexample.calls for name in (call.operation, call.derived_from)}


@dataclass
class _Script:
    source: str | None
    framework: str
    counterexample: Counterexample
    conventions: Mapping[str, str]
    law: str
    taken_as: Mapping[str, str]
    _known: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    _arrays: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the whole script."""
        calls = self.counterexample.calls
        body = [line for number in range(len(calls)) for line in self._call(number)]
        helpers = ["", *_STRIDED.get(self.framework, _SHOWING_NO_STRIDES), ""] if self._is_strided and calls else []
        lines = [
            *self._imports("\n".join(body)),
            "",
            *loading(self.source, self.taken_as),
            *helpers,
            "",
            *body,
            *self._ending(),
        ]
        return "\n".join(lines) + "\n"

    def _imports(self, body: str) -> list[str]:
        standard = ["import importlib.util", "import sys"] if is_file(self.source) and not self.taken_as else []
        constants = [name for name in ("inf", "nan") if _mentions(body + self._expected_text(), name)]
        if constants:
            standard.append(f"from math import {', '.join(constants)}")
        if "SimpleNamespace(" in body or self.taken_as:
            standard.append("from types import SimpleNamespace")
        notation = self._notation.imports
        wide = self.framework == "jax" and any(call.dtype == "float64" for call in self.counterexample.calls)
        needs_jax = wide or _mentions(body, "jax")
        framework = ["import jax", *notation] if needs_jax else [*notation]
        framework += ["", 'jax.config.update("jax_enable_x64", True)'] if wide else []
        return [*standard, "", *framework] if standard else framework

    @property
    def _notation(self) -> Notation:
        return NOTATIONS[self.framework]

    @property
    def _is_strided(self) -> bool:
        return self.law.endswith(".memory_layout")

    def _call(self, number: int) -> list[str]:
        """Return the lines that build the arguments of one call, make it, and print the result."""
        record = self.counterexample.calls[number]
        operation = OPERATIONS[record.operation]
        lines: list[str] = []
        names = {name: self._variable(name, value, record.dtype, lines) for name, value in record.arguments.items()}
        handed = {name: self._handed(operation, name, variable, record) for name, variable in names.items()}
        positional = [handed[name] for name in operation.positional if name in handed]
        keywords = [f"{name}={text}" for name, text in handed.items() if name not in operation.positional]
        result = self._result_name(number)
        lines += self._remarks(operation, number, record)
        returned = f"{result}, {_cache_name(number)}" if "cache" in operation.results else result
        if record.derived_from:
            given = {name: handed[name] for name in operation.positional if name in handed}
            records = {name: _arrays_in(names[name], record.arguments[name]) for _, name in operation.records}
            lines += derived_call(self.framework, operation, given, keywords, result, records)
        else:
            lines.append(f"{returned} = implementation.{operation.name}({', '.join([*positional, *keywords])})")
            lines += _taken_apart(operation, result, record)
        return lines + self._turned_back(operation, result, record)

    def _variable(self, name: str, value: Any, dtype: str, lines: list[str]) -> str:
        """Return the name that holds an argument, adding the line that makes it unless an earlier call did."""
        if isinstance(value, tuple):
            return repr(value)
        if isinstance(value, EarlierCache):
            return _cache_name(value.call)
        if value is None:
            return "None"
        if isinstance(value, bool | int | float | str | np.generic):
            return repr(value.item() if isinstance(value, np.generic) else value)
        known = self._known.setdefault(name, [])
        for variable, earlier in known:
            if same(earlier, value):
                return variable
        variable = name if not known else f"{name}_{len(known) + 1}"
        known.append((variable, value))
        # One array passed twice stays one array: self-attention has code paths of its own.
        text = self._arrays.get(id(value)) or self._literal(value, dtype)
        self._arrays.setdefault(id(value), variable)
        lines.append(f"{variable} = {text}")
        return variable

    def _literal(self, value: Any, dtype: str) -> str:
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, np.ndarray):
            return self._notation.array(value, dtype)
        if isinstance(value, list | tuple):
            return f"[{', '.join(self._literal(part, dtype) for part in value)}]"
        lines = "".join(f"    {name}={self._literal(part, dtype)},\n" for name, part in members(value))
        return f"SimpleNamespace(\n{lines})"

    def _handed(self, operation: Operation, name: str, variable: str, record: CallRecord) -> str:
        """Return the expression for an argument in the implementation's own grouping, layout and polarity."""
        value = record.arguments[name]
        order = self._head_order(record)
        if order is not None and _has_heads(name, value):
            chosen = "{}[{order}]" if name == "sinks" else self._notation.chosen
            variable = chosen.format(variable, order=order)
        if self._has_layout(operation) and operation.parameter(name).is_laid_out:
            variable = self._notation.turned.format(variable)
        if name == "mask" and self.conventions.get("mask_polarity") == "true_is_masked":
            variable = f"~{variable}"
        strided = self._is_strided and record is self.counterexample.calls[-1] and isinstance(value, np.ndarray)
        return f"strided({variable})" if strided else variable

    def _remarks(self, operation: Operation, number: int, record: CallRecord) -> list[str]:
        remarks = []
        if number == 0 and self._has_layout(operation):
            remarks.append("# The implementation's axes are batch, length, head, width.")
        if number == 0 and "mask" in record.arguments and self.conventions.get("mask_polarity") == "true_is_masked":
            remarks.append("# The implementation's mask is True where a key is hidden.")
        if number == 0 and self._head_order(record) is not None:
            remarks.append("# The implementation's query head h reads key/value head h mod G.")
        return remarks

    def _turned_back(self, operation: Operation, result: str, record: CallRecord) -> list[str]:
        moved = operation.laid_out_results if self._has_layout(operation) else ()
        order = self._head_order(record)

        def turned(array: str, is_moved: bool) -> str:
            return self._notation.turned.format(array) if is_moved else array

        def ordered(array: str) -> str:
            return array if order is None else self._notation.chosen.format(array, order=np.argsort(order).tolist())

        if not operation.returns_several_arrays:
            expression = ordered(turned(result, any(moved)))
            return [f"{result} = {expression}"] if expression != result else []
        each = ", ".join(turned(f"{result}[{place}]", is_moved) for place, is_moved in enumerate(moved))
        lines = [f"{result} = [{each}]"] if any(moved) else []
        # Of several gradients the first has a row for each query head.
        return lines + ([f"{result} = [{ordered(f'{result}[0]')}, *{result}[1:]]"] if order is not None else [])

    def _head_order(self, record: CallRecord) -> list[int] | None:
        if self.conventions.get("kv_grouping") != "tile" or "key" not in record.arguments:
            return None
        heads, groups = record.arguments["query"].shape[1], record.arguments["key"].shape[1]
        order: list[int] = np.arange(heads).reshape(groups, -1).T.reshape(-1).tolist()
        return order if order != list(range(heads)) else None

    def _has_layout(self, operation: Operation) -> bool:
        return self.conventions.get("layout") == "blhd" and "layout" in operation.conventions

    def _result_name(self, number: int) -> str:
        return "result" if len(self.counterexample.calls) == 1 else f"result_{number + 1}"

    def _ending(self) -> list[str]:
        """Return the lines that print what came next to what was expected."""
        calls = self.counterexample.calls
        if not calls:
            return [f"# The law fails without a call: {_commented(self._expected_text())}"]
        verdict = self.counterexample.verdict
        if isinstance(verdict.expected, str) or isinstance(verdict.actual, str):
            return self._ending_in_words(str(verdict.expected), str(verdict.actual))
        received = self._computed(verdict.actual, range(len(calls)))
        # One call is judged by a formula; of several, one may be the expected value of the other.
        others = [number for number in range(len(calls)) if self._result_name(number) not in received]
        expected = self._computed(verdict.expected, others) if len(calls) > 1 else ""
        expected = expected or nested(verdict.expected, digits=_DIGITS)
        if received:
            return [f'print("expected", {expected})', f'print("got     ", {received})']
        compared = nested(verdict.actual, digits=_DIGITS)
        return [
            *self._all_results(),
            *_remark(f"From these the law computes {compared}, and expects {expected}."),
        ]

    def _computed(self, array: np.ndarray, numbers: Iterable[int]) -> str:
        """Return the expression that gives what the law compares, if it is a call's result or one end of it."""
        for number in reversed(list(numbers)):
            for index, part in parts(self.counterexample.calls[number]):
                selection = selected(part, array)
                if selection is not None:
                    return self._listed(number, f"{index}{selection}")
        return ""

    def _listed(self, number: int, selection: str = "") -> str:
        """Return the expression of a call's result, or a part of it, as Python's numbers."""
        name = self._result_name(number)
        if OPERATIONS[self.counterexample.calls[number].operation].returns_number:
            return f"float({name})"
        return self._notation.listed.format(f"{name}{selection}")

    def _ending_in_words(self, expected: str, received: str) -> list[str]:
        results = [self._result_name(number) for number in range(len(self.counterexample.calls))]
        listed = self._notation.listed
        lines = [f"# Expected: {_commented(expected)}. Veriformer received: {_commented(received)}."]
        if self.law.endswith(".inputs_unchanged"):
            names = [name for name, known in self._known.items() if isinstance(known[0][1], np.ndarray)]
            return [*lines, *(f'print("{name} after the call", {listed.format(name)})' for name in names)]
        if any(OPERATIONS[call.operation].returns_several_arrays for call in self.counterexample.calls):
            shown = f"(tuple(part.shape), part.dtype, {listed.format('part')})"
            return [*lines, *(f"print([{shown} for part in {name}])" for name in results)]
        if any(OPERATIONS[call.operation].returns_number for call in self.counterexample.calls):
            return [*lines, *(f"print(repr({name}))" for name in results)]
        return [*lines, *(f"print(tuple({name}.shape), {name}.dtype, {listed.format(name)})" for name in results)]

    def _all_results(self) -> list[str]:
        lines = []
        for number, call in enumerate(self.counterexample.calls):
            name, several = self._result_name(number), OPERATIONS[call.operation].returns_several_arrays
            shown = f"[{self._notation.listed.format('part')} for part in {name}]" if several else self._listed(number)
            lines.append(f'print("{_ordinal(number)} call", {shown})')
        return lines

    def _expected_text(self) -> str:
        expected = self.counterexample.verdict.expected
        return expected if isinstance(expected, str) else nested(expected, digits=_DIGITS)


def _arrays_in(name: str, value: Any) -> list[str]:
    """Return the expressions of all arrays of an argument: `weights.layers[0].w_1`."""
    if isinstance(value, np.ndarray):
        return [name]
    if isinstance(value, list | tuple):
        return [found for place, part in enumerate(value) for found in _arrays_in(f"{name}[{place}]", part)]
    if value is None or isinstance(value, bool | int | float | str):
        return []
    return [found for member, part in members(value) for found in _arrays_in(f"{name}.{member}", part)]


def _taken_apart(operation: Operation, result: str, record: CallRecord) -> list[str]:
    """Return the lines that put the arrays of a record that was returned behind each other, as they are judged."""
    if not operation.records:
        return []
    arrays = [path for _, name in operation.records for path in _paths_of(name, record.arguments[name])]
    plain = len(operation.results) - len(operation.records)
    found = result if len(operation.results) > 1 else f"[{result}]"
    return [
        "",
        "",
        "def at(tree, path):",
        '    for name in path.split("."):',
        "        if isinstance(tree, (list, tuple)) and name.isdecimal():",
        "            tree = tree[int(name)]",
        "        else:",
        "            tree = tree[name] if isinstance(tree, dict) else getattr(tree, name)",
        "    return tree",
        "",
        "",
        f"returned = {found}",
        f"paths = {arrays!r}",
        f"{result} = [*returned[:{plain}], *(at(returned[{plain}], path) for path in paths)]",
    ]


def _paths_of(name: str, argument: Any) -> list[str]:
    """Return the dotted names of the arrays of a record that is like an argument."""
    if hasattr(argument, "vocabulary_size"):
        return names_in_configuration(argument)
    found = _arrays_in(name, argument)
    return [path.removeprefix(name).replace("[", ".").replace("]", "").removeprefix(".") for path in found]


def _cache_name(number: int) -> str:
    return f"cache_{number + 1}"


def _remark(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)]


def _has_heads(name: str, value: Any) -> bool:
    if name in ("query", "grad_output", "sinks"):
        return True
    return name in ("mask", "bias") and value.ndim == 4 and value.shape[1] > 1


def _ordinal(number: int) -> str:
    return _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _commented(text: str) -> str:
    return plain(" ".join(text.split()))
