"""Initial weights: right programs conform whatever their numbers are, and no bound on chance is too narrow."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.errors import UnjudgeableResult
from veriformer.adapters.loading import load
from veriformer.adapters.weights import names_in_configuration
from veriformer.conformance_tests import check
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.mistakes.files import read_source
from veriformer.conformance_tests.operations.initialisation.arrays import NAMES, shapes_of
from veriformer.conformance_tests.operations.initialisation.cases import InitialCase
from veriformer.conformance_tests.operations.initialisation.chance import (
    Form,
    in_common,
    largest_mean,
    mean_square,
    sum_of_forms,
    sum_of_squares,
)
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.models.trees import arrays_by_path, with_arrays_at
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS

Numbers = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
ARCHITECTURES = ("gpt", "llama", "bert")
OF_CHANCE = (
    "biases",
    "mean",
    "deviation",
    "logits",
    "depth",
    "matrices.independent",
    "heads.independent",
    "rows.independent",
    "tables",
    "seed.other",
)


def cut_off(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return normal numbers that are drawn again until they are at most 2 away, of the variance 1."""
    drawn = generator.standard_normal(shape)
    while (far := np.abs(drawn) > 2.0).any():
        drawn = np.where(far, generator.standard_normal(shape), drawn)
    return drawn / 0.8796256610342398


# Numbers of mean 0 and variance 1, none with heavier tails than normal ones.
NUMBERS: dict[str, Numbers] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "uniform": lambda generator, shape: generator.uniform(-sqrt(3.0), sqrt(3.0), shape),
    "cut_off": cut_off,
    "signs": lambda generator, shape: generator.choice([-1.0, 1.0], shape),
}


class Program:
    """Initial weights with some numbers, under conventions; `stored` is the dtype that they are returned in."""

    framework = "numpy"

    def __init__(self, numbers: Numbers, stored: str = "float32", **conventions: str) -> None:
        self.numbers = numbers
        self.stored = stored
        self.chosen: dict[str, Any] = {name: conventions.get(name, CONVENTIONS[name].standard) for name in NAMES}

    def initial_weights(self, config: Any, *, seed: int) -> Any:
        """Return the weights as nested mappings."""
        generator = np.random.default_rng(seed)
        exact = arrays_by_path(reference.initial_weights(config, seed=seed, **self.chosen))
        drawn = {path: self._drawn(path, array, config, generator) for path, array in exact.items()}
        return self.changed(config, with_arrays_at(reference.initial_weights(config, seed=seed), drawn))

    def changed(self, config: Any, weights: Any) -> Any:
        """Return the weights as they are; a wrong program changes them."""
        return weights

    def _drawn(self, path: str, array: np.ndarray, config: Any, generator: np.random.Generator) -> np.ndarray:
        name = path.rpartition(".")[2]
        if name.startswith("w_") or name == "unembedding":
            variance = reference.initial_variance(
                name,
                array.shape,
                config,
                layer=int(path.split(".")[1]) if path.startswith("layers.") else 0,
                initial_deviation=self.chosen["initial_deviation"],
                initial_residual=self.chosen["initial_residual"],
            )
            array = sqrt(variance) * self.numbers(generator, array.shape)
        elif name in ("embedding", "positions"):
            array = 0.02 * self.numbers(generator, array.shape)
        return array.astype(self.stored)


def judged(program: Program, key: str, case: InitialCase) -> bool:
    subject = Subject(load(program), OPERATIONS["initial_weights"], {**standard_conventions(), **program.chosen})
    return laws()[f"initial_weights.{key}"].judge(Trial(subject, case, draw_inputs("initial_weights", case))).holds


@pytest.mark.parametrize("numbers", [name for name in NUMBERS if name != "signs"])
def test_no_seed_is_accused_whatever_the_distribution(numbers: str) -> None:
    for seed in range(20):
        architecture = ARCHITECTURES[seed % 3]
        case = InitialCase(architecture, 2, 64, 4, 2 if architecture == "llama" else 4, 160, 24, weights_seed=seed)
        for key in OF_CHANCE:
            assert judged(Program(NUMBERS[numbers]), key, case), (seed, key)


@pytest.mark.parametrize(
    ("convention", "value"), [(name, value) for name in NAMES for value in CONVENTIONS[name].value_names]
)
def test_a_program_of_each_convention_conforms_and_is_recognised(convention: str, value: str) -> None:
    """A value that has to be declared is."""
    program = Program(NUMBERS["uniform"], **{convention: value})
    if value not in CONVENTIONS[convention].inferred_values:
        program.conventions = {convention: value}  # type: ignore[attr-defined]
    found = examine(load(program), OPERATIONS["initial_weights"]).subject.conventions
    assert {name: found[name] for name in NAMES} == program.chosen
    report = check(program, tier="quick", diagnosis=False)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []


@pytest.mark.parametrize("stored", ["float16", "float64"])
def test_weights_of_any_dtype_conform(stored: str) -> None:
    report = check(Program(NUMBERS["normal"], stored), tier="quick", diagnosis=False)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []


def test_weights_in_bfloat16_conform(tmp_path: Any) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(
        """
import torch

framework = "torch"
conventions = {"initial_deviation": "fixed"}


def initial_weights(config, *, seed):
    generator = torch.Generator().manual_seed(seed)
    width, hidden = config.d_model, config.d_ff
    narrow = width // config.num_heads * config.num_kv_heads

    def normal(*shape):
        return torch.empty(shape, dtype=torch.bfloat16).normal_(0, 0.02, generator=generator)

    def attention():
        shapes = {"q": (width, width), "k": (width, narrow), "v": (width, narrow), "o": (width, width)}
        weights = {f"w_{name}": normal(*shape) for name, shape in shapes.items()}
        return weights | {f"b_{name}": torch.zeros(shape[1]).bfloat16() for name, shape in shapes.items()}

    def network():
        if config.gated:
            return {"w_gate": normal(width, hidden), "w_up": normal(width, hidden), "w_down": normal(hidden, width)}
        biases = {"b_1": torch.zeros(hidden).bfloat16(), "b_2": torch.zeros(width).bfloat16()}
        return {"w_1": normal(width, hidden), "w_2": normal(hidden, width), **biases}

    norm = {"gamma": torch.ones(width).bfloat16(), "beta": torch.zeros(width).bfloat16()}
    return {
        "embedding": normal(config.vocabulary_size, width),
        "positions": normal(config.max_length, width),
        "embedding_norm": norm,
        "layers": [
            {"self_attention": attention(), "norm_1": norm, "feed_forward": network(), "norm_2": norm}
            for _ in range(config.num_layers)
        ],
        "final_norm": norm,
        "unembedding": normal(width, config.vocabulary_size),
    }
""",
        encoding="utf-8",
    )
    report = check(str(path), tier="quick", diagnosis=False)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []


def test_the_defaults_of_torch_conform_and_are_recognised(tmp_path: Any) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(read_source("initial_xavier_torch").replace("self.apply(self.reset)", "pass"), encoding="utf-8")
    found = examine(load(str(path)), OPERATIONS["initial_weights"]).subject.conventions
    assert [found[name] for name in NAMES] == ["third_of_fan_in", "unscaled", "uniform"]
    report = check(str(path), diagnosis=False)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []


def zero_positions(weights: Any) -> Any:
    return with_arrays_at(weights, {**arrays_by_path(weights), "positions": 0.0 * weights.positions})


def with_zero_tokens(weights: Any, count: int) -> Any:
    table = weights.embedding.copy()
    table[:count] = 0.0
    return with_arrays_at(weights, {**arrays_by_path(weights), "embedding": table})


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        (zero_positions, True),
        (lambda weights: with_zero_tokens(weights, 1), True),
        (lambda weights: with_zero_tokens(weights, 2), False),
    ],
)
def test_positions_and_a_token_of_padding_may_be_zero_and_no_others(change: Callable[[Any], Any], holds: bool) -> None:
    class Changed(Program):
        def changed(self, config: Any, weights: Any) -> Any:
            return change(weights)

    case = InitialCase("gpt", 1, 256, 4, 4, 96, 24, weights_seed=3)
    assert judged(Changed(NUMBERS["normal"]), "tables", case) == holds


@pytest.mark.parametrize("key", ["deviation", "logits", "depth"])
def test_what_is_no_number_is_no_weight(key: str) -> None:
    class Broken(Program):
        def changed(self, config: Any, weights: Any) -> Any:
            weights.layers[0].self_attention.w_k[0, 0] = np.nan
            return weights

    assert not judged(Broken(NUMBERS["normal"]), key, InitialCase("gpt", 1, 64, 4, 4, 96, 24))


def of_chi_square(value: float, number: int) -> float:
    """Return P(χ² ≥ value) of an even number of degrees of freedom: e^(−v/2) Σ_k (v/2)^k/k!, k < n/2."""
    term = total = 1.0
    for k in range(1, number // 2):
        term *= value / 2.0 / k
        total += term
    return exp(-value / 2.0 + log(total))


@pytest.mark.parametrize("alarm", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("number", [2, 20, 200])
def test_a_sum_of_squares_of_normal_numbers_is_beyond_its_bounds_as_rarely_as_said(number: int, alarm: float) -> None:
    within = sum_of_squares(number, alarm)
    assert of_chi_square(within.most, number) <= alarm / 2.0
    assert 1.0 - of_chi_square(within.least, number) <= alarm / 2.0 + 1e-14


@pytest.mark.parametrize("name", NUMBERS)
def test_bounds_are_left_as_rarely_as_said_by_numbers_of_every_distribution(name: str) -> None:
    """With an alarm of one in ten, of 4000 draws, each bound is left by one in ten at most, up to five deviations."""
    generator, alarm, draws = np.random.default_rng(5), 0.1, 4000
    given = generator.standard_normal((6, 4)) @ np.diag([3.0, 1.0, 1.0, 0.2])
    numbers = NUMBERS[name](generator, (draws, 24))
    forms = [Form.of(given, 6, 1.0)]
    # Six rows of four entries each.
    quadratic = np.square(numbers.reshape(draws, 6, 4) @ given.T).sum(axis=(1, 2))
    left = {
        "mean": np.abs(numbers.mean(axis=1)) > largest_mean(24, 1.0, alarm),
        "mean square": [value not in mean_square(24, alarm) for value in np.square(numbers).mean(axis=1).tolist()],
        "forms": [value not in sum_of_forms(forms, alarm) for value in (quadratic / forms[0].expected).tolist()],
        "in common": [
            bool((in_common(one.reshape(4, 6), np.ones(4), alarm) > 1.0).any()) for one in numbers
        ],
    }  # fmt: skip
    most = alarm + 5.0 * sqrt(alarm * (1.0 - alarm) / draws)
    assert {what: share for what, rarely in left.items() if (share := float(np.mean(rarely))) > most} == {}


def test_what_is_expected_of_a_form_is_its_mean() -> None:
    given = np.arange(6.0).reshape(3, 2)
    generator = np.random.default_rng(0)
    values = [np.square(given @ generator.standard_normal((2, 5)) * 0.5).sum() for _ in range(20_000)]
    np.testing.assert_allclose(Form.of(given, 5, 0.25).expected, np.mean(values), rtol=0.02)


def test_rows_of_zeros_have_nothing_in_common_and_copies_all() -> None:
    row = np.random.default_rng(0).standard_normal(400)
    shares = in_common(np.stack([row, 0.0 * row, row, -row]), np.ones(4))
    assert shares[0, 1] == shares[1, 2] == 0.0
    assert min(shares[0, 2], shares[0, 3], shares[2, 3]) > 1.0


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tied", [True, False])
def test_the_names_of_a_record_are_those_of_its_configuration(architecture: Any, tied: bool) -> None:
    config = reference.configure(
        architecture, num_layers=2, d_model=4, num_heads=2, d_ff=3, vocabulary_size=5, max_length=6, tied_embedding=tied
    )
    assert names_in_configuration(config) == list(shapes_of(config))


def test_a_record_that_lacks_an_array_cannot_be_judged() -> None:
    class Lacking(Program):
        def changed(self, config: Any, weights: Any) -> Any:
            return SimpleNamespace(**{name: getattr(weights, name) for name in ("embedding", "layers")})

    case = InitialCase("gpt", 1, 4, 2, 2, 3, 5)
    with pytest.raises(UnjudgeableResult, match="positions"):
        judged(Lacking(NUMBERS["normal"]), "norms", case)


def test_two_programs_with_their_own_numbers_are_not_told_apart() -> None:
    found = compare_implementations(
        Program(NUMBERS["normal"]), Program(NUMBERS["uniform"]), operations=("initial_weights",), dtypes=("float32",)
    )
    assert found.exit_status == 0
