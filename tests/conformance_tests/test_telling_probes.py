"""Probes of whole models and layers tell conventions that change little: GELU by tanh, pairs in halves, gains.

The programs are written as strangers write them, or are the examples with a decision made otherwise; none declares
conventions.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check, identify
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.spec.operations import OPERATIONS

HERE = Path(__file__).parent
STRANGERS = HERE / "strangers"
LAYERS = HERE.parents[1] / "docs" / "examples" / "layers_torch.py"
MODELS = HERE.parents[1] / "conformance_tests" / "mistakes" / "sources" / "models_torch.py"
TANH = ("functional.gelu", 'lambda x: functional.gelu(x, approximate="tanh")')


def undeclared(path: Path, *changes: tuple[str, str]) -> SimpleNamespace:
    """Return what a file defines, without the conventions that it declares and with parts of it replaced."""
    source = re.sub(r"^conventions = .*$", "", path.read_text(), flags=re.MULTILINE)
    for right, other in changes:
        assert source.count(right) == 1, (right, source.count(right))
        source = source.replace(right, other)
    namespace: dict[str, Any] = {"__name__": path.stem}
    exec(compile(source, str(path), "exec"), namespace)
    return SimpleNamespace(**{name: value for name, value in namespace.items() if not name.startswith("__")})


def told(target: object, convention: str) -> dict[str, tuple[str, str, str]]:
    """Return for each operation the value of a convention, how it is known, and what `identify` says of it."""
    found = [item for item in identify(target).conventions if item.convention == convention]
    return {item.operation: (item.value, item.how, item.told) for item in found}


def inferred(target: object, convention: str, *operations: str) -> set[tuple[str, str]]:
    """Return how a check knows a convention of some operations."""
    implementation = load(target)
    findings = (finding for name in operations for finding in examine(implementation, OPERATIONS[name]).findings)
    return {(finding.value, finding.how) for finding in findings if finding.convention == convention}


def test_a_nano_gpt_with_gelu_by_tanh_conforms_and_its_form_is_told() -> None:
    path = str(STRANGERS / "nano_gpt.py")
    report = check(path, tier="quick")
    assert report.verdict == "conforms"
    assert report.conventions["gelu_form"] == "tanh"
    # Its function of GELU is an operation by itself, too.
    operations = ("gelu", "gelu_backward", "language_model", "decode_step", "language_model_backward")
    assert told(path, "gelu_form") == dict.fromkeys(operations, ("tanh", "inferred", "told"))


def test_a_llama_that_pairs_halves_conforms_and_its_pairing_is_told() -> None:
    path = str(STRANGERS / "llama_half.py")
    report = check(path, tier="quick")
    assert report.verdict == "conforms"
    assert report.conventions["rotary_pairing"] == "half"


@pytest.mark.parametrize("form", ("erf", "tanh", "sigmoid"))
@pytest.mark.parametrize("file", (MODELS, LAYERS), ids=lambda file: file.stem)
def test_whole_models_and_layers_tell_every_form_of_gelu(file: Path, form: str) -> None:
    other = {"erf": TANH[0], "tanh": TANH[1], "sigmoid": "lambda x: x * torch.sigmoid(1.702 * x)"}[form]
    target = undeclared(file, (TANH[0], other))
    answers = told(target, "gelu_form")
    assert len(answers) >= 2
    assert set(answers.values()) == {(form, "inferred", "told")}
    assert inferred(target, "gelu_form", *answers) == {(form, "inferred")}


# Each is wrong elsewhere than where the convention acts.
FAULTS = {
    "values of the first head": ("v = (x @ w.w_v)", "v = (x @ w.w_v.roll(1, 1))"),
    "no scale": (" * dim**-0.5", ""),
    "heads tiled": ("x.repeat_interleave(times, dim=1)", "x.repeat(1, times, 1, 1)"),
    "the diagonal off by one": (".triu(start + 1)", ".triu(start + 2)"),
    "eps outside the root": ("torch.rsqrt(variance + eps)", "1 / (variance.sqrt() + eps)"),
    "gate and other way mixed up": ("silu(x @ w.w_gate) * (x @ w.w_up)", "silu(x @ w.w_up) * (x @ w.w_gate)"),
    "no last norm": ("rms(x, weights.final_norm.gamma, config.eps) @", "x @"),
    "angles of the wrong base": ("config.rotary_base, x.dtype", "2 * config.rotary_base, x.dtype"),
    "no residual": ("x = x + h", "x = h"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_elsewhere_does_not_hide_how_a_llama_pairs(fault: str) -> None:
    target = undeclared(STRANGERS / "llama_half.py", FAULTS[fault])
    assert inferred(target, "rotary_pairing", "language_model", "decode_step") == {("half", "inferred")}
    assert set(told(target, "rotary_pairing").values()) == {("half", "inferred", "told")}


@pytest.mark.parametrize(("gain", "written"), (("gamma", "weight"), ("one_plus_gamma", "(1 + weight)")))
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "no last norm"])
def test_a_fault_elsewhere_does_not_hide_the_gain_of_a_llama(gain: str, written: str, fault: str) -> None:
    changes = (("return weight *", f"return {written} *"), FAULTS[fault])
    target = undeclared(STRANGERS / "llama_half.py", *changes)
    assert inferred(target, "rms_norm_gain", "language_model") == {(gain, "inferred")}


def test_a_fault_of_attention_hides_neither_sinusoids_nor_gelu() -> None:
    changes = (
        ("functional.gelu", TANH[1]),
        ("torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)", "torch.cat([angles.sin(), angles.cos()], -1)"),
    )
    target = undeclared(MODELS, *changes, ("attn_mask=visible", "attn_mask=None"))
    assert inferred(target, "sinusoidal_layout", "encoder_decoder") == {("concatenated", "inferred")}
    assert inferred(target, "gelu_form", "encoder", "encoder_decoder", "language_model") == {("tanh", "inferred")}
