"""Scripts that reproduce a violation: each is executed, and must show what the implementation really returns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.core.verdict import compare
from veriformer.conformance_tests.mistakes import planted
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.reports.literals import NOTATIONS, nested, scalar
from veriformer.conformance_tests.reports.selections import selected
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.conformance_tests.reports.targets import target
from veriformer.conformance_tests.reports.violation import conventions_of
from veriformer.conformance_tests.run.report import Report

SIGN_LOST = """
import helper
framework = "numpy"
def softmax(x):
    e = helper.exponential(x)
    return e / e.sum(axis=-1, keepdims=True) * 2
"""

TRANSPOSED = """
import numpy as np
conventions = {"layout": "blhd", "mask_polarity": "true_is_masked"}
def scaled_dot_product_attention(query, key, value, *, mask=None):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (query, key, value))
    logits = q @ k.transpose(0, 1, 3, 2)          # the scale is missing
    if mask is not None:
        logits = np.where(mask, -np.inf, logits)
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True) @ v).transpose(0, 2, 1, 3)
"""


def script_of(report: Report, law: str) -> str:
    result = next(result for result in report.results if result.law.id == law)
    assert result.counterexample is not None, result
    conventions = conventions_of(report, result.law.operation.name)
    return reproduce(target(report), report.framework, result.counterexample, conventions=conventions, law=law)


def printed(script: str, folder: Path) -> dict[str, object]:
    """Run a script in a folder, with no way to find Veriformer, and return the values that it prints by their names."""
    compile(script, "script", "exec")
    run = subprocess.run(
        [sys.executable, "-"],
        input=script,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    names = {"nan": np.nan, "inf": np.inf}
    lines = (line.split(" ", 1) for line in run.stdout.splitlines())
    return {name: eval(value, {"__builtins__": {}}, names) for name, value in lines}


def wrote(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return name


def test_a_script_shows_the_wrong_output_of_a_file_and_its_helpers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper.py").write_text("import numpy as np\nexponential = np.exp\n")
    name = wrote(tmp_path, "mine.py", SIGN_LOST, monkeypatch)
    script = script_of(check(name, laws=("softmax.value",), tier="quick"), "softmax.value")
    assert "veriformer" not in script
    values = printed(script, tmp_path)
    assert np.allclose(np.array(values["got"]), 2 * np.array(values["expected"]))


def test_layout_and_polarity_are_applied_in_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = wrote(tmp_path, "mine.py", TRANSPOSED, monkeypatch)
    report = check(name, laws=("attention.mask.value",), tier="quick")
    result = report.results[0]
    script = script_of(report, "attention.mask.value")
    assert "query.swapaxes(1, 2)" in script
    assert "mask=~mask" in script
    values = printed(script, tmp_path)
    assert result.counterexample is not None
    assert np.allclose(values["got"], result.counterexample.verdict.actual)
    assert not np.allclose(values["got"], values["expected"])


def test_a_corrected_file_makes_the_script_print_the_correct_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = wrote(tmp_path, "mine.py", TRANSPOSED, monkeypatch)
    script = script_of(check(name, laws=("attention.mask.value",), tier="quick"), "attention.mask.value")
    (tmp_path / name).write_text(
        TRANSPOSED.replace("k.transpose(0, 1, 3, 2) ", "k.transpose(0, 1, 3, 2) * q.shape[-1] ** -0.5 ")
    )
    values = printed(script, tmp_path)
    assert np.allclose(values["got"], values["expected"], atol=1e-5)


def test_an_object_in_a_file_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "class Mine:\n    def softmax(self, x):\n        return x * 0.5\nmine = Mine()\n"
    wrote(tmp_path, "objects.py", text, monkeypatch)
    script = script_of(check("objects.py:mine", laws=("softmax.value",), tier="quick"), "softmax.value")
    values = printed(script, tmp_path)
    assert np.array(values["got"]).shape == np.array(values["expected"]).shape


def test_laws_about_two_calls_make_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = wrote(tmp_path, "mine.py", "def softmax(x):\n    return x\n", monkeypatch)
    script = script_of(check(name, laws=("softmax.shift",), tier="quick"), "softmax.shift")
    values = printed(script, tmp_path)
    assert "result_2" in script
    assert values["expected"] != values["got"]


def test_an_operation_that_raises_is_called_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = wrote(tmp_path, "mine.py", "def softmax(x):\n    raise ValueError('no')\n", monkeypatch)
    script = script_of(check(name, laws=("softmax.value",), tier="quick"), "softmax.value")
    run = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False)
    assert run.stderr.strip().endswith("ValueError: no")


def test_strided_arguments_are_strided_in_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
import numpy as np
def softmax(x):
    if not x.flags.c_contiguous:
        return np.zeros_like(x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
    name = wrote(tmp_path, "mine.py", text, monkeypatch)
    script = script_of(check(name, laws=("softmax.memory_layout",)), "softmax.memory_layout")
    values = printed(script, tmp_path)
    assert np.any(np.array(values["expected"]))
    assert not np.any(np.array(values["got"]))


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_arrays_are_written_exactly(framework: str) -> None:
    namespace: dict[str, object] = {"nan": np.nan, "inf": np.inf}
    exec("\n".join(NOTATIONS[framework].imports), namespace)
    value = np.array([[1 / 3, -0.0, np.nan], [np.inf, -np.inf, 3e38]]).astype(np.float32).astype(np.float64)
    read = np.asarray(eval(NOTATIONS[framework].array(value, "float32"), namespace), dtype=np.float64)
    assert np.array_equal(read, value, equal_nan=True)
    assert np.signbit(read[0, 1])


@pytest.mark.parametrize(
    "value", [np.zeros((2, 0, 3)), np.full((4, 4), 2.0), np.zeros((2, 2), dtype=bool), np.arange(3)]
)
def test_shapes_and_kinds_survive(value: np.ndarray) -> None:
    read = eval(NOTATIONS["numpy"].array(value, "float32"), {"np": np, "bool": bool})
    assert read.shape == value.shape
    assert read.dtype.kind == value.dtype.kind
    assert np.array_equal(read, value)


def test_long_literals_are_wrapped_and_still_read() -> None:
    value = np.random.default_rng(0).standard_normal((3, 4, 9))
    text = nested(value)
    assert max(map(len, text.splitlines())) <= 104
    assert np.array_equal(np.array(eval(text)), value)


def test_digits_bound_what_is_written() -> None:
    assert scalar(1 / 3, digits=7) == "0.3333333"
    assert scalar(2.0) == "2"


@pytest.mark.parametrize(
    ("part", "index"),
    [
        (np.s_[:, :], ""),
        (np.s_[:, :2], "[:, :2]"),
        (np.s_[1:, :], "[-2:]"),
        (np.s_[::2, :], None),
        (np.s_[:2, :2], None),
    ],
)
def test_parts_of_a_result_are_recognised(part: tuple[slice, slice], index: str | None) -> None:
    result = np.arange(12.0).reshape(3, 4)
    assert selected(result, result[part]) == index


def test_an_implementation_without_a_source_leaves_a_line_to_fill_in() -> None:
    inputs = draw_inputs(
        "softmax", __import__("veriformer.conformance_tests.drawing.vectors", fromlist=["x"]).VectorCase(1, 1, 2)
    )
    call = CallRecord("softmax", "float32", inputs.arguments(), inputs.x)
    script = reproduce(None, "numpy", Counterexample(None, (call,), compare(inputs.x + 1, inputs.x, inputs.x * 0)))
    compile(script, "script", "exec")
    assert "the object that was checked" in script


def test_weights_are_an_object_with_attributes() -> None:
    inputs = draw_inputs("multi_head_attention", AttentionCase(1, 2, 2, 1, 2, 1, 1, biases=True))
    call = CallRecord("multi_head_attention", "float32", inputs.arguments(), inputs.x)
    script = reproduce("m", "numpy", Counterexample(None, (call,), compare(inputs.x + 1, inputs.x, inputs.x * 0)))
    compile(script, "script", "exec")
    assert "weights = SimpleNamespace(\n    w_q=np.array(" in script
    assert "multi_head_attention(x, context, weights, num_heads=2)" in script


def test_a_tiling_implementation_gets_its_heads_reordered() -> None:
    inputs = draw_inputs("grouped_query_attention", AttentionCase(1, 4, 2, 1, 2, 1, 1))
    call = CallRecord("grouped_query_attention", "float32", inputs.arguments(), inputs.query)
    counterexample = Counterexample(None, (call,), compare(inputs.query + 1, inputs.query, inputs.query * 0))
    script = reproduce("m", "numpy", counterexample, conventions={"kv_grouping": "tile"})
    assert "query[:, [0, 2, 1, 3]]" in script
    assert "result = result[:, [0, 2, 1, 3]]" in script


# A source of mistakes, and the law whose counterexample is written out: with integer arguments, records of weights,
# records that are dictionaries, lists of layers, lists of arrays, and results that are numbers of Python's.
SCRIPTS = (
    ("gradients_of_activations_jax", "gelu_backward.grad_x"),
    ("gradients_of_activations_torch", "silu_backward.grad_x"),
    ("gradients_of_embeddings_jax", "embedding_backward.grad_table"),
    ("gradients_of_losses_torch", "cross_entropy_backward.grad_logits"),
    ("gradients_of_rotary_torch", "rotary_backward.grad_x"),
    ("gradients_of_normalisation_torch", "layer_norm_backward.grad_x"),
    ("gradients_of_networks_numpy", "feed_forward_backward.grad_w_1"),
    ("gradients_of_networks_numpy", "gated_feed_forward_backward.grad_w_up"),
    ("gradients_of_networks_torch", "feed_forward_backward.grad_w_1"),
    ("gradients_of_networks_jax", "gated_feed_forward_backward.grad_w_gate"),
    ("gradients_of_multi_head_numpy", "multi_head_backward.grad_w_o"),
    ("gradients_of_multi_head_torch", "single_head_backward.grad_x"),
    ("gradients_of_layers_torch", "decoder_layer_backward.grad_memory"),
    ("clipping_numpy", "clip.value"),
    ("clipping_torch", "clip.grouping"),
    ("schedules_numpy", "warmup_cosine.value"),
    ("schedules_torch", "inverse_root.value"),
    ("gradients_of_merging_numpy", "merge_backward.grad_lse_b"),
    ("gradients_of_merging_torch", "merge_backward.grad_lse_a"),
    ("gradients_of_weights_torch", "weights_backward.grad_query"),
)


@pytest.mark.parametrize(
    ("source", "law"),
    [
        # Of frameworks, one is imported and calls are slow: the search for the smallest case makes hundreds.
        pytest.param(*script, marks=[] if script[0].endswith("numpy") else [pytest.mark.long])
        for script in SCRIPTS
    ],
)
def test_a_script_prints_the_wrong_result(source: str, law: str, tmp_path: Path) -> None:
    mistake = next(one for one in planted() if one.source == source and law in one.laws)
    pytest.importorskip(mistake.framework)
    file = tmp_path / "mistaken.py"
    file.write_text(mistake.source_text(), encoding="utf-8")
    report = check(str(file), laws=(law,))
    (result,) = (one for one in report.results if one.law.id == law)
    assert result.counterexample is not None
    shown = printed(script_of(report, law), tmp_path)
    verdict = result.counterexample.verdict
    np.testing.assert_allclose(np.asarray(shown["got"]), np.asarray(verdict.actual), rtol=1e-5, atol=1e-6)


def test_a_function_of_another_name_and_form_is_called_as_it_takes_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "norms.py"
    path.write_text(
        "import numpy as np\n"
        "def rmsnorm(gain, x, epsilon=1e-6):\n"
        "    return x / np.sqrt((x * x).sum(-1, keepdims=True) + epsilon) * gain\n"
    )
    report = check(str(path), laws="rms_norm.value", diagnosis=False)
    (result,) = (one for one in report.results if one.status == "failed")
    assert result.counterexample is not None
    script = reproduce(target(report), report.framework, result.counterexample, taken_as=report.taken_as)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "expected" in run.stdout
    assert "got" in run.stdout
