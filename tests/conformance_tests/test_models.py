"""Whole Transformers: error bounds, chains of calls, declared architectures, and the examples that hold every law."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters import numpy as built_in
from veriformer.adapters.errors import LoadError
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.diagnosis.observation import arguments_of
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.reports.snippet import reproduce
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
SOURCES = Path(__file__).resolve().parents[2] / "conformance_tests" / "mistakes" / "sources"
MODELS = ("encoder", "encoder_decoder", "language_model", "decode_step")
CONVENTIONS = standard_conventions()
CASES = {
    "encoder": ("bert",),
    "encoder_decoder": ("vaswani", "bart"),
    "language_model": ("gpt", "llama"),
    "decode_step": ("gpt", "llama"),
}


def case(operation: str, architecture: str, dtype: str = "float32", seed: int = 1, **settings: Any) -> ModelCase:
    sizes = {"source_length": 6} if operation == "encoder_decoder" else {}
    sizes |= {"cuts": (2, 3)} if operation == "decode_step" else {}
    palette: Any = ("integers", "normal")[seed % 2]
    return ModelCase(
        architecture, 2, 5, 8, 2, 2, 7, 2, 11, dtype=dtype, palette=palette, seed=seed, **(sizes | settings)
    )


def of_reference(operation: str, inputs: Any) -> np.ndarray:
    """Call the reference itself."""
    arguments = inputs.arguments()
    if operation == "decode_step":
        return by_steps(inputs)
    return getattr(reference, operation)(**arguments)


def by_steps(inputs: Any) -> np.ndarray:
    """Decode with the reference, one step after the other."""
    logits, caches = [], []
    for step in inputs.steps:
        cache = None if step.after is None else caches[step.after]
        found, known = reference.decode_step(step.tokens, cache, inputs.weights, inputs.config, **step.keywords)
        logits.append(found)
        caches.append(known)
    return np.concatenate(logits, axis=1)


@pytest.mark.parametrize("positions", ["none", "shared", "each"])
@pytest.mark.parametrize("padding", ["none", "right", "left"])
@pytest.mark.parametrize("architecture", ["gpt", "llama"])
def test_decoding_with_positions_and_padding_is_the_reference(architecture: str, padding: str, positions: str) -> None:
    family = family_of("decode_step")
    assert family is not None
    for seed in range(3):
        inputs = draw_inputs("decode_step", case("decode_step", architecture, "float64", seed, padding=padding))
        inputs = inputs if positions == "none" else with_positions(inputs, positions, seed)
        value, expected = by_steps(inputs), inputs.expected(CONVENTIONS)
        np.testing.assert_allclose(expected.value[expected.judged], value[expected.judged], rtol=0, atol=1e-10)
        assert expected.judged.all() is np.bool_(padding == "none")
        computed = family.under(CONVENTIONS).compute(arguments_of(inputs))
        np.testing.assert_array_equal(computed[expected.judged], value[expected.judged])
        subject = Subject(load("numpy"), OPERATIONS["decode_step"], CONVENTIONS)
        error = np.abs(subject.call(inputs) - expected.value)
        assert (error <= expected.allowed)[expected.judged].all()


def with_positions(inputs: Any, kind: str, seed: int) -> Any:
    shape = inputs.tokens.shape if kind == "each" else inputs.tokens.shape[1:]
    positions = np.random.default_rng(seed).integers(0, inputs.config.max_length, shape)
    return inputs.decoding(inputs.tokens, inputs.cuts, positions=positions, padding_mask=inputs.padding_mask)


def test_positions_and_padding_reach_a_worker(tmp_path: Path) -> None:
    path = tmp_path / "my_decoding.py"
    path.write_text((SOURCES / "padded_decoding_numpy.py").read_text(encoding="utf-8"), encoding="utf-8")
    report = check(str(path), laws=("decoding.positions.*", "decoding.padding.*"), tier="quick", isolate=True)
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(
        (result.law.id for result in report.results), "passed"
    )
    assert len(report.results) == 7


@pytest.mark.parametrize(("operation", "architecture"), [(name, kind) for name in CASES for kind in CASES[name]])
def test_what_is_expected_is_the_reference(operation: str, architecture: str) -> None:
    for seed in range(4):
        inputs = draw_inputs(operation, case(operation, architecture, seed=seed))
        value = of_reference(operation, inputs)
        expected = inputs.expected(CONVENTIONS)
        np.testing.assert_allclose(expected.value, value, rtol=0, atol=1e-10)
        assert expected.value.shape == inputs.result_shape


@pytest.mark.parametrize(("operation", "architecture"), [(name, kind) for name in CASES for kind in CASES[name]])
def test_bounds_are_a_small_part_of_what_they_bound(operation: str, architecture: str) -> None:
    """A bound as large as the result would let everything pass."""
    for seed in range(4):
        layers = 1 if operation == "encoder_decoder" else 2
        inputs = draw_inputs(operation, replace(case(operation, architecture, seed=seed), layers=layers))
        expected = inputs.expected(CONVENTIONS)
        assert np.median(expected.allowed) < 4e-3 * np.abs(expected.value).max()


def test_a_chain_is_answered_step_by_step_from_the_cache_that_each_names() -> None:
    inputs = draw_inputs("decode_step", case("decode_step", "llama"))
    subject = Subject(load("numpy"), OPERATIONS["decode_step"], CONVENTIONS)
    result = subject.call(inputs)
    whole = built_in.language_model(inputs.tokens, inputs.weights, inputs.config)
    np.testing.assert_allclose(result, whole, rtol=0, atol=1e-5)
    assert [str(call.arguments["cache"]) for call in subject.calls] == ["None", "that of call 1", "that of call 2"]
    assert [call.result.shape for call in subject.calls if call.result is not None] == [
        (2, 2, 11),
        (2, 1, 11),
        (2, 2, 11),
    ]


def without_offset(folder: Path) -> Path:
    """Write the example with rotary positions that start again at every step."""
    text = (SOURCES / "models_torch.py").read_text(encoding="utf-8")
    right = "    start = 0 if past is None else past[0].shape[2]\n"
    assert text.count(right) == 1
    path = folder / "my_model.py"
    path.write_text(text.replace(right, "    start = 0\n"), encoding="utf-8")
    return path


def test_a_chain_that_fails_is_repeated_without_veriformer(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = without_offset(tmp_path)
    report = check(str(path), laws=("decoding.prefill",))
    counterexample = report.results[0].counterexample
    assert counterexample is not None
    script = reproduce(str(path), "torch", counterexample, law="decoding.prefill")
    assert "veriformer" not in script
    assert "result_3, cache_3 = implementation.decode_step(tokens_3, cache_2, weights, config)" in script
    blocked = "import sys; sys.modules['veriformer'] = None\n" + script
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected, got = done.stdout.strip().splitlines()[-2:]
    assert expected.startswith("expected") and got.startswith("got") and expected[9:] != got[9:]


def test_what_torch_has_holds_every_law() -> None:
    pytest.importorskip("torch")
    report = check("torch", operations=MODELS, tier="quick", seed=0)
    assert [result.law.id for result in report.results if result.status in ("failed", "error")] == []


def test_the_reference_holds_the_laws_of_its_architectures() -> None:
    report = check("numpy", laws=("*.architecture.*", "decoding.greedy", "decoding.cache.*"), tier="quick", seed=1)
    assert {result.status for result in report.results} == {"passed"}


def test_the_example_in_torch_holds_every_law() -> None:
    pytest.importorskip("torch")
    report = check(str(SOURCES / "models_torch.py"), operations=MODELS, tier="quick", seed=1)
    assert {result.status for result in report.results} == {"passed", "not_declared"}
    # Its decoding counts positions itself and takes no padding.
    unasked = {result.law.id for result in report.results if result.status == "not_declared"}
    assert unasked == {law for law in LAWS if law.startswith(("decoding.positions.", "decoding.padding."))}


def test_the_example_in_jax_holds_the_laws_of_its_architectures() -> None:
    """A few laws: every shape that is compiled takes a second."""
    pytest.importorskip("jax")
    laws = ("encoder.architecture.bert", "encoder_decoder.architecture.vaswani", "decoding.prefill")
    report = check(str(EXAMPLES / "models_jax.py"), laws=laws, tier="quick")
    assert [result.status for result in report.results] == ["passed"] * 3


def test_conventions_of_whole_models_are_found() -> None:
    pytest.importorskip("torch")
    module = load(str(SOURCES / "models_torch.py"))
    bare = SimpleNamespace(framework="torch", **module.operations)
    report = check(bare, operations=MODELS, laws=("*.shape",), tier="quick")
    found = {
        (finding.operation, finding.convention): finding.value
        for finding in report.findings
        if finding.how == "inferred"
    }
    assert found["language_model", "rotary_pairing"] == found["decode_step", "rotary_pairing"] == "half"
    assert found["language_model", "rms_norm_gain"] == "gamma"
    assert found["encoder", "gelu_form"] == found["encoder_decoder", "gelu_form"] == "erf"
    assert found["encoder_decoder", "sinusoidal_layout"] == "interleaved"


def test_laws_of_an_architecture_that_is_not_declared_are_not_tried() -> None:
    bare = SimpleNamespace(language_model=built_in.language_model, architectures={"language_model": ("gpt",)})
    report = check(bare, operations=("language_model",), tier="quick")
    untried = {result.law.id: result.reason for result in report.results if result.status == "not_declared"}
    assert set(untried) == {"language_model.architecture.llama", "language_model.padding.left"}
    assert set(untried.values()) == {"language_model declares no architecture llama"}
    assert {result.status for result in report.results} == {"passed", "not_declared"}


def test_padding_on_the_left_is_not_drawn_where_it_is_refused() -> None:
    def refusing(tokens: Any, weights: Any, config: Any, *, padding_mask: Any = None) -> Any:
        if padding_mask is not None and not padding_mask[:, 0].all():
            raise ValueError("padding stands on the right")
        return built_in.language_model(tokens, weights, config, padding_mask=padding_mask)

    bare = SimpleNamespace(language_model=refusing, limitations=("left_padding",))
    report = check(bare, operations=("language_model",), tier="quick")
    untried = [result.law.id for result in report.results if result.status != "passed"]
    assert untried == ["language_model.padding.left"]


# What a black box declares by further keywords.
_OF_WHOLE_MODELS = (
    "model.cache.tokens",
    "model.cache.parts",
    "model.gradients.value",
    "model.loss.value",
    "model.loss.ignored",
    "model.batch.arguments",
)


def test_a_black_box_is_judged_by_what_it_declares() -> None:
    pytest.importorskip("torch")
    report = check(str(SOURCES / "black_box_torch.py"), operations=("model",), tier="quick")
    assert {result.law.id for result in report.results if result.status == "not_declared"} == {
        "model.tokens.permutation",
        "model.dtype",
        *_OF_WHOLE_MODELS,
    }
    assert {result.status for result in report.results} == {"passed", "not_declared"}


def test_a_black_box_of_vectors_is_judged_too() -> None:
    def model(inputs: np.ndarray, *, padding_mask: np.ndarray | None = None) -> np.ndarray:
        mask = np.ones(inputs.shape[:2]) if padding_mask is None else padding_mask
        weights = mask[..., None].astype(inputs.dtype)
        return inputs + (inputs * weights).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)

    box = SimpleNamespace(model=model, model_inputs={"d_model": 5}, model_properties=("permutation_equivariant",))
    report = check(box, operations=("model",), tier="quick")
    lacking = {result.law.id for result in report.results if result.status != "passed"}
    assert lacking == {"model.causal.no_future_leak", "model.causal.prefix", *_OF_WHOLE_MODELS}


def test_a_black_box_that_takes_padding_on_the_right_only_says_so() -> None:
    """One that reads the first row for all has it padded when padding stands on the left."""

    def model(inputs: np.ndarray, *, padding_mask: np.ndarray | None = None) -> np.ndarray:
        return inputs + inputs[:, :1]

    declarations = {"model": model, "model_inputs": {"d_model": 5}}
    report = check(SimpleNamespace(**declarations), operations=("model",), tier="quick")
    assert [result.law.id for result in report.results if result.status == "failed"] == ["model.padding.left"]
    box = SimpleNamespace(**declarations, limitations=("model.left_padding",))
    status = {result.law.id: result.status for result in check(box, operations=("model",), tier="quick").results}
    assert status["model.padding.left"] == "not_declared"
    assert "failed" not in status.values()


def test_a_black_box_that_always_returns_nan_is_wrong_and_repeats_itself() -> None:
    """The same NaN twice is the same result: nothing in it is random."""

    def model(inputs: Any) -> Any:
        return np.full_like(inputs, np.nan)

    box = SimpleNamespace(model=model, model_inputs={"d_model": 5}, model_properties=("causal",))
    report = check(box, operations=("model",), tier="quick")
    broken = {result.law.id for result in report.results if result.status == "failed"}
    of_samples = {"model.batch.independence", "model.batch.permutation"}
    assert broken == {"model.causal.no_future_leak", "model.causal.prefix", *of_samples}
    assert "dropout_active_in_eval" not in {name for one in report.diagnoses[0].suspects for name in one.mistakes}


def test_a_model_of_which_nothing_is_said_is_not_called() -> None:
    def model(inputs: object) -> object:
        raise AssertionError("called")

    report = check(SimpleNamespace(model=model), operations=("model",), tier="quick")
    assert {result.status for result in report.results} == {"not_declared"}
    assert "model_inputs" in report.results[0].reason


@pytest.mark.parametrize(
    ("attributes", "message"),
    (
        ({"architectures": ("gpt",)}, "architectures is a tuple; set it to a mapping"),
        ({"architectures": {"decoder": ("gpt",)}}, "architectures has 'decoder'; known are encoder"),
        ({"architectures": {"language_model": ("gtp",)}}, "has 'gtp'; known are gpt, llama"),
        ({"architectures": {"encoder": "bert"}}, r"architectures\['encoder'\] is 'bert'; set it to a sequence"),
        ({"model_inputs": {"width": 4}}, "set it to a mapping with vocabulary_size"),
        ({"model_inputs": {"d_model": 4, "size": 2}}, "model_inputs has 'size'; known are vocabulary_size"),
        ({"model_inputs": {"d_model": 0}}, r"model_inputs\['d_model'\] is 0; set it to a positive integer"),
        ({"model_inputs": {"d_model": 4, "max_batch": 0}}, r"model_inputs\['max_batch'\] is 0; set it to a positive"),
        ({"model_inputs": {"d_model": 4, "min_length": 9, "max_length": 8}}, "min_length 9 and max_length 8"),
        ({"model_inputs": {"d_model": 4}, "model_properties": ("casual",)}, "has 'casual'; known are causal"),
    ),
)
def test_what_is_declared_of_models_is_validated(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load(SimpleNamespace(model=lambda inputs: inputs, **attributes))
