"""The cases as public Hypothesis strategies: what they meet, what they refuse, and how far they shrink."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from veriformer import reference
from veriformer.adapters import numpy as built_in
from veriformer.adapters.results import join
from veriformer.adapters.weights import arrays_in, convert_weights
from veriformer.conformance_tests.core.selection import UnknownName
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.strategies import Arguments, attention_inputs, inputs
from veriformer.spec.operations import OPERATIONS

pytestmark = pytest.mark.long

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "own_law.py"
CALLABLE = [name for name in OPERATIONS.own if name not in ("decode_step", "model")]
Strategy = st.SearchStrategy[Arguments]


@pytest.mark.parametrize("name", CALLABLE)
def test_a_correct_function_agrees_with_what_is_expected(name: str) -> None:
    seen: list[Any] = []

    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(inputs(name))
    def agrees(arguments: Arguments) -> None:
        result, expected = getattr(built_in, name)(**arguments), arguments.expected()
        if OPERATIONS[name].results:
            result = join([array for part in together(result) for _, array in arrays_in("", part, is_array)])
        assert compare(expected.value, result, expected.allowed, expected.judged).holds
        seen.append(arguments.description)

    agrees()
    assert len(set(seen)) > 1


def together(result: Any) -> Any:
    """Return the parts of a result, of which a record may be the only one, records as all operations take them."""
    parts = result if isinstance(result, tuple) else (result,)
    return [part if is_array(part) or isinstance(part, list) else convert_weights(part, np.asarray) for part in parts]


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def attends_nowhere(arguments: Arguments) -> bool:
    return "mask" in arguments and bool((~arguments["mask"].any(axis=-1)).any())


def lengths(arguments: Arguments) -> tuple[int, int]:
    return arguments["query"].shape[2], arguments["key"].shape[2]


MET: dict[str, tuple[Strategy, Callable[[Arguments], bool]]] = {
    "a mask": (attention_inputs(), lambda a: "mask" in a and a["mask"].dtype == bool and not a["mask"].all()),
    "a mask of rank 2": (attention_inputs(), lambda a: "mask" in a and a["mask"].ndim == 2),
    "the causal flag": (attention_inputs(), lambda a: a.get("is_causal") is True),
    "a mask and the causal flag": (attention_inputs(), lambda a: "mask" in a and "is_causal" in a),
    "neither": (attention_inputs(), lambda a: set(a) == {"query", "key", "value"}),
    "more queries than keys": (attention_inputs(), lambda a: lengths(a)[0] > lengths(a)[1]),
    "more keys than queries": (attention_inputs(), lambda a: lengths(a)[0] < lengths(a)[1]),
    "several samples and heads": (attention_inputs(), lambda a: min(a["query"].shape[:2]) > 1),
    "other widths": (attention_inputs(), lambda a: a["value"].shape[-1] != a["key"].shape[-1]),
    "a row without keys": (attention_inputs(empty_rows=True), attends_nowhere),
    "shared heads": (
        attention_inputs("grouped_query_attention"),
        lambda a: 1 < a["key"].shape[1] < a["query"].shape[1],
    ),
    "a window": (attention_inputs(window="sometimes"), lambda a: "window" in a),
    "sinks": (attention_inputs(sinks="sometimes"), lambda a: "sinks" in a),
    "half precision": (inputs("softmax", dtypes=("float32", "float16")), lambda a: a["x"].dtype == np.float16),
    "ignored targets": (inputs("cross_entropy"), lambda a: "ignore_index" in a),
    "two architectures": (inputs("language_model"), lambda a: "llama" in a.description),
}


@pytest.mark.parametrize("what", MET)
def test_it_is_met(what: str) -> None:
    strategy, is_it = MET[what]
    assert is_it(find(strategy, is_it, settings=settings(max_examples=1000, derandomize=True, database=None)))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_nothing_is_drawn_that_was_not_asked_for(data: st.DataObject) -> None:
    plain = data.draw(attention_inputs(mask="never", is_causal="never"))
    assert set(plain) == {"query", "key", "value"}
    assert not attends_nowhere(data.draw(attention_inputs(mask="always", is_causal="never")))
    assert set(data.draw(inputs("rotary_embedding", features=()))) == {"x", "positions"}


def unscaled(query: Any, key: Any, value: Any) -> Any:
    return reference.softmax(query @ key.swapaxes(-1, -2)) @ value


def test_a_wrong_function_is_shrunk_to_a_small_counterexample() -> None:
    def is_wrong(arguments: Arguments) -> bool:
        expected = arguments.expected()
        return not compare(expected.value, unscaled(**arguments), expected.allowed, expected.judged).holds

    strategy = attention_inputs(mask="never", is_causal="never")
    smallest = find(strategy, is_wrong, settings=settings(derandomize=True, database=None))
    # One query, two keys that differ, and a width at which √D is not 1.
    *sizes, width = smallest["query"].shape
    assert sizes == [1, 1, 1]
    assert width in (2, 3)
    assert smallest["key"].shape == (1, 1, 2, width)
    assert set(np.unique(np.concatenate([smallest["query"].ravel(), smallest["key"].ravel()]))) <= {0.0, 1.0}
    assert repr(smallest).startswith("<scaled_dot_product_attention: batch 1, heads 1, L = 1, S = 2, D = ")


def test_vectors_are_shrunk_too() -> None:
    smallest = find(
        inputs("softmax"), lambda a: a["x"].shape[-1] > 1, settings=settings(derandomize=True, database=None)
    )
    assert smallest["x"].shape == (1, 1, 2)
    assert set(smallest["x"].ravel()) <= {0.0, 1.0}


def test_arrays_of_another_framework_are_drawn() -> None:
    torch = pytest.importorskip("torch")
    found = find(attention_inputs(mask="always", framework="torch"), lambda _: True)
    assert found["query"].dtype == torch.float32
    assert found["mask"].dtype == torch.bool


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: inputs("softmx"), UnknownName, "no operation is called 'softmx'; did you mean softmax"),
        (lambda: inputs("decode_step"), ValueError, "decode_step has no arguments of its own"),
        (lambda: inputs("model"), ValueError, "model has no arguments of its own"),
        (lambda: inputs("softmax", features=("mask",)), ValueError, "softmax has no feature 'mask'; it has none"),
        (lambda: inputs("softmax", dtypes=("bfloat16",)), ValueError, "numpy has no bfloat16"),
        (lambda: attention_inputs("softmax"), ValueError, "use inputs\\('softmax'\\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


def test_conventions_that_do_not_exist_are_refused() -> None:
    arguments = find(attention_inputs(), lambda _: True)
    with pytest.raises(UnknownName, match="no convention is called 'empty_rows'; did you mean empty_row"):
        arguments.expected(empty_rows="zeros")
    with pytest.raises(ValueError, match="the convention empty_row has no value 'zero'; its values are zeros, nan"):
        arguments.expected(empty_row="zero")


def test_the_example_of_the_documentation_passes() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout


def test_the_page_shows_the_example() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "own_laws.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    assert all(block in EXAMPLE.read_text(encoding="utf-8") for block in blocks)
