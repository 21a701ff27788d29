"""An implementation on the arrays of another framework than the one that it names: said once, at the first call."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationRaised, UnjudgeableResult, WrongFramework
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check, compare_implementations, identify
from veriformer.conformance_tests.reports.console import report_lines
from veriformer.conformance_tests.reports.options import Options

X = {"x": np.array([[1.0, 2.0, 4.0]])}
PROGRAMS = {
    "torch": "import torch\ndef softmax(x):\n    return torch.softmax(x, dim=-1)\ndef gelu(x):\n"
    "    return torch.nn.functional.gelu(x)\n",
    "jax": "import jax\ndef softmax(x):\n    return jax.nn.softmax(x)\ndef gelu(x):\n"
    "    return jax.nn.gelu(x, approximate=False)\n",
    "numpy": "import math\nimport numpy as np\nerf = np.vectorize(math.erf, otypes=[float])\ndef softmax(x):\n"
    "    e = np.exp(x - x.max(axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)\n"
    "def gelu(x):\n    return np.asarray(x * (1 + erf(np.asarray(x) / 2**0.5)) / 2, dtype=x.dtype)\n",
}
PAIRS = [(takes, named) for takes in PROGRAMS for named in PROGRAMS if takes != named]


def written(folder: Path, takes: str, named: str) -> str:
    for needed in (takes, named):
        pytest.importorskip(needed)
    path = folder / f"{takes}_as_{named}.py"
    path.write_text(f"framework = {named!r}\n{PROGRAMS[takes]}")
    return str(path)


@pytest.mark.parametrize(("takes", "named"), PAIRS)
def test_the_first_call_says_which_framework_answers(tmp_path: Path, takes: str, named: str) -> None:
    implementation = load(written(tmp_path, takes, named))
    with pytest.raises(WrongFramework, match=f'set framework = "{takes}"'):
        prepare(implementation, "softmax", X, dtype="float32").run()


def test_it_is_said_once_for_all_laws_and_none_is_tried(tmp_path: Path) -> None:
    target = written(tmp_path, "torch", "numpy")
    report = check(target, tier="quick", isolate=True)
    judged = [result for result in report.results if result.status != "not_declared"]
    # What a signature promises is read, not called.
    errors = [result for result in judged if result.status == "error"]
    assert {result.law.id for result in judged} - {result.law.id for result in errors} == {
        "softmax.signature",
        "gelu.signature",
    }
    assert len({result.reason for result in errors}) == 1
    assert 'set framework = "torch"' in errors[0].reason
    assert all(result.counterexample is None for result in errors)
    assert report.diagnoses == ()
    assert report.verdict == "violates"


def test_an_operation_is_called_a_few_times_only() -> None:
    pytest.importorskip("torch")
    calls = []

    def softmax(x):
        calls.append(type(x).__module__)
        return x.softmax(-1)

    check(SimpleNamespace(softmax=softmax), tier="quick")
    assert calls == ["numpy", "torch"]


def test_identify_and_compare_say_it_too(tmp_path: Path) -> None:
    target = written(tmp_path, "torch", "numpy")
    answers = identify(target).conventions
    assert {answer.told for answer in answers} == {"untold"}
    assert any('set framework = "torch"' in answer.reason for answer in answers)
    comparison = compare_implementations("numpy", target, operations=("softmax",), tier="quick")
    assert comparison.verdict == "error"
    assert 'set framework = "torch"' in comparison.operations[0].reason


def test_only_the_operations_that_take_other_arrays_are_given_up() -> None:
    torch = pytest.importorskip("torch")
    mixed = SimpleNamespace(softmax=lambda x: torch.softmax(x, -1), silu=lambda x: x / (1 + np.exp(-x)))
    report = check(mixed, tier="quick", diagnosis=False)
    statuses = {result.law.id: result.status for result in report.results}
    assert (statuses["softmax.value"], statuses["silu.value"]) == ("error", "passed")


def test_an_operation_that_has_answered_is_not_doubted() -> None:
    torch = pytest.importorskip("torch")

    def softmax(x):
        return x.softmax(-1) if x.shape[-1] > 2 else torch.softmax(torch.from_numpy(x), -1).numpy()

    implementation = load(SimpleNamespace(softmax=softmax))
    prepare(implementation, "softmax", {"x": np.ones((1, 2))}, dtype="float32").run()
    with pytest.raises(OperationRaised, match="no attribute 'softmax'"):
        prepare(implementation, "softmax", X, dtype="float32").run()


def test_what_fails_with_every_framework_is_an_error_like_others() -> None:
    pytest.importorskip("torch")

    def refuses(x):
        raise ValueError("not today")

    for function, error in ((refuses, OperationRaised), (lambda x: None, UnjudgeableResult)):
        implementation = load(SimpleNamespace(softmax=function, framework="torch"))
        with pytest.raises(error):
            prepare(implementation, "softmax", X, dtype="float32").run()


def test_a_worker_says_it(tmp_path: Path) -> None:
    implementation = load_isolated(written(tmp_path, "torch", "numpy"))
    try:
        for operation in ("softmax", "gelu", "softmax"):
            with pytest.raises(WrongFramework, match='set framework = "torch"'):
                prepare(implementation, operation, X, dtype="float32").run()
    finally:
        implementation.close()


def test_the_framework_of_a_file_holds_for_its_objects(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "layers.py"
    path.write_text(
        'import torch\nframework = "torch"\ndevice = "cpu"\nclass Activations:\n    def softmax(self, x):\n'
        '        return x.softmax(-1)\nclass Own(Activations):\n    framework = "numpy"\n'
        "ours, own = Activations(), Own()\n"
    )
    assert load(f"{path}:ours").framework.name == "torch"
    assert load(f"{path}:own").framework.name == "numpy"


def test_a_file_without_a_framework_is_told_about_its_objects_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "layers.py"
    path.write_text(
        "import torch\nclass Activations:\n    def softmax(self, x):\n        return x\nours = Activations()\n"
    )
    (notice,) = load(f"{path}:ours").notices
    assert 'add framework = "torch"' in notice


def test_the_report_has_the_sentence_once(tmp_path: Path) -> None:
    report = check(written(tmp_path, "torch", "numpy"), tier="quick")
    text = " ".join(line.plain.strip() for line in report_lines(report, Options(width=100)))
    assert text.count('set framework = "torch"') == 1
    assert "14 laws could not be judged, for the same reason as softmax" in text
