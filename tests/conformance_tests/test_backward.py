"""Gradients of attention: correct programs pass, what autograd does is found, and scripts show it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.mistakes import read_source
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.conformance_tests.run.report import Report

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SOURCES = ROOT / "conformance_tests" / "mistakes" / "sources"
BACKWARD = "scaled_dot_product_attention_backward"

FORWARD = read_source("differentiated_torch")


def failed(report: Report) -> set[str]:
    return {result.law.id.partition(".")[2] for result in report.results if result.status in ("failed", "error")}


def test_the_torch_example_passes() -> None:
    report = check(str(SOURCES / "backward_torch.py"), tier="quick", seed=1)
    assert failed(report) == set()
    judged = [r for r in report.results if r.law.operation.name == BACKWARD and r.status != "not_declared"]
    assert report.counts["passed"] == len(judged) > 30
    assert not report.derived


def test_the_jax_example_passes() -> None:
    pytest.importorskip("jax")
    # Every law passes; these need few compilations.
    laws = ("grad_query", "grad_key", "grad_value", "keys.sum_to_zero", "equal_shares", "grad_output.linear")
    report = check(
        str(EXAMPLES / "backward_jax.py"), laws=tuple(f"attention_backward.{law}" for law in laws), tier="quick"
    )
    assert failed(report) == set()
    assert report.counts["passed"] == len(laws)


def test_a_derived_backward_pass_passes_and_is_reported_as_derived(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FORWARD, encoding="utf-8")
    report = check(str(path), operations=(BACKWARD,), tier="quick")
    assert failed(report) == set()
    assert report.derived == {BACKWARD: "scaled_dot_product_attention"}


def test_rows_that_the_causal_flag_empties_are_compared() -> None:
    """Aligned to the last key, with more queries than keys; where their value is no zero the law is not offered."""
    source = read_source("blocked_torch")
    law = "attention_backward.causal.empty_row"
    for text, status in (
        (source, "passed"),
        (source.replace("total.masked_fill(total == 0, 1.0)", "total").replace('"zeros"', '"nan"'), "not_declared"),
        (
            source.replace("visible.tril(keys - queries)", "visible.tril()").replace("bottom_right", "top_left"),
            "passed",
        ),
    ):
        module: dict[str, object] = {}
        exec(compile(text, "program", "exec"), module)
        (result,) = check(SimpleNamespace(**module), laws=(law,), tier="quick").results
        assert result.status == status, text


def test_the_gradients_of_a_wrong_forward_pass_are_told_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FORWARD.replace("** -0.5", "** -0.25"), encoding="utf-8")
    report = check(str(path), operations=("scaled_dot_product_attention", BACKWARD), tier="quick")
    assert "grad_value" in failed(report)
    short, long = (report_text(report, Options(verbose=verbose)) for verbose in (False, True))
    assert "✗ attention." in short
    assert "do not: cause below" in short
    assert "attention_backward." not in short
    assert "attention_backward.grad_value" in long


def test_a_gradient_that_is_nan_where_the_output_is_zero_is_found(tmp_path: Path) -> None:
    """The output of an empty row is chosen by `where`, but 0 · NaN in the branch not taken is NaN all the same."""
    text = FORWARD.replace("~visible & shown", "~visible").replace(
        "return (weights * shown) @ value", "return torch.where(shown, weights @ value, 0.0)"
    )
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    laws = ("attention.mask.empty_row", "attention_backward.mask.empty_row", "attention_backward.mask.value")
    report = check(str(path), laws=laws)
    assert {result.law.id: result.status for result in report.results} == dict(
        zip(laws, ("passed", "failed", "passed"), strict=True)
    )


def test_a_detached_key_is_found_and_the_script_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FORWARD.replace("key.transpose", "key.detach().transpose"), encoding="utf-8")
    report = check(str(path), laws=("attention_backward.grad_key", "attention_backward.grad_value"))
    assert failed(report) == {"grad_key"}
    result = next(result for result in report.results if result.status == "failed")
    assert result.counterexample is not None
    script = reproduce(str(path), "torch", result.counterexample, law=result.law.id)
    assert "torch.autograd.grad(output, leaves, grad_output" in script
    assert "veriformer" not in script
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    expected, received = (line.split(maxsplit=1)[1] for line in run.stdout.splitlines())
    assert expected != received
    assert not any(character in received for character in "123456789")


JAX = """
import jax
import jax.numpy as jnp

framework = "jax"
dtypes = ("float16",)
conventions = {"layout": "bhld"}


@jax.jit
def scaled_dot_product_attention(query, key, value):
    return jax.nn.softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5) @ value
"""


def test_the_float16_gradient_of_jax_is_shown_to_be_wrong(tmp_path: Path) -> None:
    """Differentiated through the square of the sum of exponentials, which float16 cannot hold from 256 on."""
    pytest.importorskip("jax")
    path = tmp_path / "mine.py"
    path.write_text(JAX, encoding="utf-8")
    report = check(str(path), laws=("attention_backward.many_keys",), tier="quick", diagnosis=False)
    assert failed(report) == {"many_keys"}
    result = next(result for result in report.results if result.status == "failed")
    assert result.counterexample is not None
    script = reproduce(str(path), "jax", result.counterexample, law=result.law.id)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[0] != run.stdout.splitlines()[1].replace("got     ", "expected")


def test_the_softmax_of_jax_in_float32_inside_float16_passes(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    path = tmp_path / "mine.py"
    text = JAX.replace("jax.nn.softmax(query", "jax.nn.softmax((query").replace(
        "-0.5) @", "-0.5).astype(jnp.float32)).astype(jnp.float16) @"
    )
    path.write_text(text, encoding="utf-8")
    assert failed(check(str(path), laws=("attention_backward.many_keys",), tier="quick")) == set()
