"""No shape, rank, dtype or length that an operation returns ends a run, whatever is declared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check, compare_implementations, identify
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

NUMPY = load("numpy")
NAMES = (
    "softmax",
    "grouped_query_attention",
    "scaled_dot_product_attention_backward",
    "merge_attention",
    "causal_mask",
    "cross_entropy",
    "decode_step",
)
INTERFACE = ("shape", "same_call_same_answer", "memory_layout")
EVERY_CONVENTION = {"layout": "blhd", "kv_grouping": "tile", "mask_polarity": "true_is_masked"}
SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "of rank 0": lambda a: np.array(1, a.dtype),
    "of rank 3": lambda a: a.reshape(1, -1, 1),
    "of rank 5": lambda a: a.reshape((*a.shape, 1, 1, 1, 1, 1)[:5] if a.ndim < 5 else a.shape),
    "of rank 40": lambda a: a.reshape((1,) * (40 - a.ndim) + a.shape),
    "empty": lambda a: np.zeros((0,) * max(a.ndim, 1), a.dtype),
    "in one axis": np.ravel,
    "transposed": np.transpose,
    "cut short": lambda a: a[..., :-1] if a.ndim else a,
    "of strings": lambda a: a.astype(str),
    "of objects": lambda a: a.astype(object),
    "of integers": lambda a: np.nan_to_num(a).astype(np.int32),
    "complex": lambda a: a.astype(complex),
    "a matrix": lambda a: np.matrix(a.reshape(-1, 1)),
    "nothing": lambda a: None,
}
LENGTHS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "too few": lambda parts: parts[:-1],
    "too many": lambda parts: (*parts, parts[0]),
    "nested": lambda parts: (parts,),
    "a mapping": lambda parts: dict(enumerate(parts)),
}


def odd(name: str, kind: str, every: int = 1) -> SimpleNamespace:
    """Return the operation of the reference, the result of which is odd at every so many calls."""
    function = NUMPY.operations[name]
    calls = 0

    def changed(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        result = function(*arguments, **keywords)
        if calls % every:
            return result
        parts = result if isinstance(result, tuple) else (result,)
        if kind in LENGTHS:
            return LENGTHS[kind](parts)
        kept = parts[1:] if name == "decode_step" else tuple(SHAPES[kind](np.asarray(part)) for part in parts[1:])
        first = SHAPES[kind](np.asarray(parts[0]))
        return (first, *kept) if isinstance(result, tuple) else first

    functools.update_wrapper(changed, function)
    return SimpleNamespace(
        **{name: changed},
        conventions={each: value for each, value in EVERY_CONVENTION.items() if each in OPERATIONS[name].conventions},
        architectures={"language_model": ("gpt",), "decode_step": ("gpt",), "encoder": ("bert",)},
        model_inputs={"d_model": 4},
    )


@pytest.mark.parametrize("kind", [*SHAPES, *LENGTHS])
def test_an_odd_result_is_judged_or_cannot_be(kind: str) -> None:
    for name in NAMES:
        laws = tuple(law for key in INTERFACE if (law := f"{OPERATIONS[name].prefix}.{key}") in LAWS)
        report = check(odd(name, kind, every=2), laws=laws, tier="quick", shrink=False, diagnosis=False)
        assert len(report.results) == len(laws)


@pytest.mark.parametrize("kind", ["of rank 0", "of rank 3"])
@pytest.mark.parametrize("name", ["grouped_query_attention", "scaled_dot_product_attention_backward", "decode_step"])
def test_no_path_ends_for_it(name: str, kind: str) -> None:
    identify(odd(name, kind))
    laws = tuple(f"{OPERATIONS[name].prefix}.{key}" for key in ("shape", "memory_layout"))
    check(odd(name, kind, 3), operations=(name,), laws=laws, tier="quick")
    comparison = compare_implementations("numpy", odd(name, kind), operations=(name,), tier="quick")
    assert [operation.agrees for operation in comparison.operations] == [False]


def test_a_backward_pass_beside_tiled_heads_is_judged() -> None:
    """What is declared of all operations holds for those that it bears on; a tuple has no axis of heads."""
    pytest.importorskip("torch")
    implementation = SimpleNamespace(
        framework="torch",
        conventions={"kv_grouping": "tile"},
        scaled_dot_product_attention=lambda q, k, v: load("torch").operations["scaled_dot_product_attention"](q, k, v),
    )
    laws = ("attention_backward.grad_value", "attention_backward.shape")
    report = check(implementation, laws=laws, tier="quick")
    assert [result.status for result in report.results] == ["passed", "passed"]


def test_a_buffer_that_changes_its_shape_is_not_kept() -> None:
    buffer = np.zeros(1)

    def softmax(x: np.ndarray) -> np.ndarray:
        buffer.resize(x.shape, refcheck=False)
        buffer[...] = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        result[0] = buffer
        return buffer

    result: list[Any] = [None]

    def shrinking(x: np.ndarray) -> np.ndarray:
        if result[0] is not None:
            result[0].resize((5, 7, 11), refcheck=False)
        result[0] = np.array(np.exp(x) / np.exp(x).sum(-1, keepdims=True))
        return result[0]

    for function in (softmax, shrinking):
        implementation = SimpleNamespace(softmax=function, dtypes=("float64",))
        report = check(implementation, laws=("softmax.result_kept",), tier="quick")
        assert report.results[0].status == "failed"
