"""Small files with gradients in the ways that users write them: right they hold, with a mistake it is caught and named.

A short file for each way, so that the tests of one of them take seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import NamedTuple

import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.report import Report

PROGRAMS = Path(__file__).parent / "differentiated"
PACKAGES = {"jax_equinox": "equinox", "jax_nnx": "flax", "jax_keras": "keras"}


class Planted(NamedTuple):
    """A mistake in a program: what stands there in the place of what, the law it breaks, and what it is called."""

    operation: str
    right: str
    wrong: str
    name: str
    law: str = "grad_x"


FORGOTTEN = "norm_backward_projections_forgotten"
DETACHED = "activation_gate_detached"
LAYER, RMS = "layer_norm_backward", "rms_norm_backward"
PLANTED: dict[str, tuple[Planted, ...]] = {
    "torch_needs_input_grad": (
        Planted(LAYER, "(wdy - xhat * c1 - c2)", "wdy", FORGOTTEN),
        # The place of eps, which is no tensor and needs none.
        Planted(LAYER, "needs_input_grad[0]", "needs_input_grad[3]", "gradient_cut_off"),
    ),
    "torch_setup_context": (Planted(RMS, " - xhat * (wdy * xhat).mean(-1, keepdim=True)", "", FORGOTTEN),),
    "torch_custom_op": (Planted(RMS, "(scaled - projection)", "scaled", FORGOTTEN),),
    "torch_compiled": (Planted(LAYER, " - of_mean - of_variance", "", FORGOTTEN),),
    "torch_func": (
        Planted(RMS, ".sqrt()", ".sqrt().detach()", FORGOTTEN),
        Planted("gelu_backward", "torch.erf(x / 2**0.5)", "torch.erf(x.detach() / 2**0.5)", DETACHED),
    ),
    "torch_graph_used_twice": (
        Planted(LAYER, "grad(y, x, grad_output)", "grad(normed, x, grad_output)", "norm_backward_gain_forgotten"),
        # Both ways back add to .grad, which the names of the first still mean.
        Planted(
            LAYER,
            "(dx,) = torch.autograd.grad(y, x, grad_output)",
            "y.backward(grad_output)\n    dx = x.grad",
            "returned=twice",
            "grad_beta",
        ),
    ),
    # What a forgotten call leaves behind is no formula: the law about equal calls says what is wrong.
    "torch_parameters": (
        Planted(RMS, "    module.zero_grad()\n", "", "", "same_call_same_answer"),
        Planted(LAYER, "    module.zero_grad()\n", "", "", "same_call_same_answer"),
    ),
    "torch_saved_in_place": (Planted(LAYER, "y.clone()", "y", "kept=output"),),
    "jax_nondiff_argnums": (Planted(RMS, " - xhat * jnp.mean(g * xhat, axis=-1, keepdims=True)", "", FORGOTTEN),),
    "jax_custom_jvp": (Planted("silu_backward", "(s + x * s * (1 - s))", "s", DETACHED),),
    "jax_transposed": (
        Planted(RMS, "jnp.mean(x**2", "jnp.mean(jax.lax.stop_gradient(x) ** 2", FORGOTTEN),
        Planted(LAYER, "mean = x", "mean = jax.lax.stop_gradient(x)", "layer_norm_backward_mean_term_missing"),
    ),
    "jax_equinox": (
        Planted(LAYER, " - g.mean(-1, keepdims=True) - xhat * jnp.mean(g * xhat, -1, keepdims=True)", "", FORGOTTEN),
    ),
    "jax_nnx": (Planted(RMS, " - normed * jnp.mean(g * normed, -1, keepdims=True)", "", FORGOTTEN),),
    "jax_keras": (Planted(RMS, " - normed * ops.mean(g * normed, axis=-1, keepdims=True)", "", FORGOTTEN),),
}
KEYS = ("shape", "dtype", "inputs_unchanged", "same_call_same_answer", "grad_output.linear", "grad_output.zero")
OF_WEIGHTS = ("grad_gamma", "grad_beta")


def laws_of(*operations: str) -> Iterator[str]:
    """Yield laws that hold for gradients, those of a norm's weights among them."""
    for operation in operations:
        weights = OF_WEIGHTS[: {LAYER: 2, RMS: 1}.get(operation, 0)]
        yield from (f"{operation}.{key}" for key in (*KEYS, "grad_x", *weights))


def source_of(program: str) -> str:
    pytest.importorskip(program.partition("_")[0])
    if find_spec(PACKAGES.get(program, "veriformer")) is None:
        pytest.skip(f"{PACKAGES[program]} is not installed")
    return (PROGRAMS / f"{program}.py").read_text("utf-8")


def report_on(path: Path, *operations: str, diagnosis: bool = False) -> Report:
    # A process has one backend of Keras, which other tests may have chosen.
    alone = "keras" in path.read_text()
    laws = tuple(laws_of(*operations))
    return check(str(path), laws=laws, tier="quick", shrink=False, diagnosis=diagnosis, isolate=alone, seed=1)


def marked(program: str) -> list[pytest.MarkDecorator]:
    """Return the mark of what is compiled, which takes seconds."""
    return [pytest.mark.long] if program.startswith("jax") or program == "torch_compiled" else []


@pytest.mark.parametrize("program", [pytest.param(name, marks=marked(name)) for name in PLANTED])
def test_right_gradients_hold(program: str, tmp_path: Path) -> None:
    source = source_of(program)
    operations = dict.fromkeys(planted.operation for planted in PLANTED[program])
    path = tmp_path / "mine.py"
    path.write_text(source)
    statuses = {result.law.id: result.status for result in report_on(path, *operations).results}
    assert statuses == dict.fromkeys(laws_of(*operations), "passed")


@pytest.mark.parametrize(
    ("program", "planted"),
    [
        pytest.param(program, planted, id=f"{program}-{number}", marks=marked(program))
        for program, several in PLANTED.items()
        for number, planted in enumerate(several)
    ],
)
def test_a_mistake_is_caught_and_named(program: str, planted: Planted, tmp_path: Path) -> None:
    source = source_of(program)
    assert source.count(planted.right) == 1
    path = tmp_path / "mine.py"
    # An operator of torch is registered once in a process.
    path.write_text(source.replace(planted.right, planted.wrong).replace("differentiated::", "mistaken::"))
    report = report_on(path, planted.operation, diagnosis=True)
    assert f"{planted.operation}.{planted.law}" in {r.law.id for r in report.results if r.status == "failed"}
    named = [suspect.mistakes for found in report.diagnoses for suspect in found.suspects[:1]]
    assert named == ([(planted.name,)] if planted.name else [])


@pytest.mark.long
@pytest.mark.skipif(which("g++") is None, reason="inductor needs a compiler of C++")
def test_machine_code_of_both_passes_holds(tmp_path: Path) -> None:
    source = source_of("torch_compiled")
    path = tmp_path / "mine.py"
    path.write_text(source.replace('backend="aot_eager", ', ""))
    # In a process of its own, where no other test has compiled anything; building the machine code takes its time.
    report = check(
        str(path), laws=(f"{LAYER}.grad_x",), tier="quick", shrink=False, diagnosis=False, isolate=True, time_limit=300
    )
    (result,) = report.results
    assert (result.status, result.reason) == ("passed", "")


WRITES_OVER_WHAT_IS_SAVED = """
framework = "torch"


def softmax(x):
    weights = x.softmax(-1)
    weights += 0
    return weights
"""


def test_what_torch_refuses_to_go_back_through_is_held_against_nobody(tmp_path: Path) -> None:
    """An in-place change of what autograd has saved is noticed by autograd; forwards the program is right."""
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(WRITES_OVER_WHAT_IS_SAVED)
    laws = ("softmax.value", "softmax_backward.grad_x")
    results = check(str(path), laws=laws, tier="quick", diagnosis=False).results
    assert {result.law.id: result.status for result in results} == dict(
        zip(laws, ("passed", "not_declared"), strict=True)
    )
    assert any("writes over what gradients need" in str(result.reason) for result in results)
