"""Dropout: right programs conform whatever their masks are, and each bound on chance is neither too narrow nor wide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.operations.dropout.cases import MANY, ManyEntriesCase
from veriformer.conformance_tests.operations.dropout.chance import FALSE_ALARM, agreement, likely, resolution
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.spec.operations import OPERATIONS

OF_CHANCE = ("share", "evaluation.training_again", "mask.neighbours", "mask.shared", "seed.other")
TORCH = """
import torch
import torch.nn.functional as F

framework = "torch"
dtypes = ("float32", "float64", "bfloat16", "float16")
"""
NUMPY = """
import numpy as np

dtypes = ("float32", "float64")
"""
RIGHT = {
    "seeding_the_global_generator": f"""{TORCH}
def dropout(x, *, rate, seed, training=True):
    torch.manual_seed(seed)
    return F.dropout(x, rate, training)
""",
    "of_the_library": f"""{TORCH}
def dropout(x, *, rate, seed, training=True):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return F.dropout(x, rate, training)
""",
    "of_bytes": f"""{TORCH}
def dropout(x, *, rate, seed, training=True):
    # As attention kernels do it: a byte is compared with the rate, which is then off by 1/256 at most.
    if not training:
        return x
    numbers = torch.randint(0, 256, x.shape, generator=torch.Generator().manual_seed(seed))
    return torch.where(numbers <= int((1 - rate) * 255), x * (1 / (1 - rate)), 0) if rate else x
""",
    "of_the_own_dtype": f"""{TORCH}
def dropout(x, *, rate, seed, training=True):
    generator = torch.Generator().manual_seed(seed)
    keep = torch.rand(x.shape, generator=generator, dtype=x.dtype) >= rate
    p = torch.tensor(rate, dtype=x.dtype)
    return x * keep.to(x.dtype) * (1 / (1 - p)) if training else x
""",
    "by_hand_and_back": f"""{NUMPY}
def mask(x, rate, seed):
    return np.random.RandomState(seed).binomial(1, 1 - rate, size=x.shape).astype(x.dtype) / x.dtype.type(1 - rate)


def dropout(x, *, rate, seed, training=True):
    return x * mask(x, rate, seed) if training else x


def dropout_backward(x, grad_output, *, rate, seed, training=True):
    return grad_output * mask(x, rate, seed) if training else grad_output
""",
    "entry_by_entry": f"""{NUMPY}
import random


def dropout(x, *, rate, seed):
    source = random.Random(seed)
    entries = [0 if source.random() < rate else entry / x.dtype.type(1 - rate) for entry in x.ravel()]
    return np.array(entries, dtype=x.dtype).reshape(x.shape)
""",
    "backward_alone": f"""{NUMPY}
def dropout_backward(x, grad_output, *, rate, seed):
    keep = np.random.default_rng(seed).uniform(size=x.shape) < 1 - rate
    return np.where(keep, grad_output, 0) / x.dtype.type(1 - rate)
""",
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_conforms(name: str, seed: int, tmp_path: Path) -> None:
    if "torch" in RIGHT[name]:
        pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(RIGHT[name], encoding="utf-8")
    report = check(str(path), seed=seed)
    assert [(one.law.id, one.status) for one in report.results if one.status in ("failed", "error")] == []
    assert len([one for one in report.results if one.status == "passed"]) >= 10


def judged(key: str, dropout: object, case: ManyEntriesCase) -> bool:
    """Return whether a law about chance holds of a function on a case."""
    subject = Subject(load(dropout), OPERATIONS["dropout"], standard_conventions())
    return laws()[f"dropout.{key}"].judge(Trial(subject, case, draw_inputs("dropout", case))).holds


class Program:
    """A program whose masks are made by a function of the shape, the rate and a generator."""

    def __init__(self, mask: object) -> None:
        self.mask = mask

    def dropout(self, x, *, rate, seed, training=True):
        keep = self.mask(x.shape, rate, np.random.default_rng(seed))
        return (x * keep / x.dtype.type(1 - rate)).astype(x.dtype) if training else x.copy()


def independent(shape: tuple[int, ...], rate: float, generator: np.random.Generator) -> np.ndarray:
    return generator.random(shape) >= rate


def case_of(seed: int, rate: float) -> ManyEntriesCase:
    return ManyEntriesCase(*MANY, rate=rate, mask_seed=seed, seed=seed)


@pytest.mark.parametrize("key", OF_CHANCE)
def test_no_law_about_chance_accuses_a_right_mask_at_200_seeds(key: str) -> None:
    program = Program(independent)
    rates = laws()[f"dropout.{key}"].space.rates
    assert all(judged(key, program, case_of(seed, rates[seed % len(rates)])) for seed in range(200))


# What is wrong with each mask, by an amount that the law's bound says it can see; at a rate of 1/2.
WRONG = {
    "share": lambda shape, rate, generator: generator.random(shape) >= rate + 0.13,
    "evaluation.training_again": lambda shape, rate, generator: generator.random(shape) >= rate - 0.13,
    "mask.neighbours": lambda shape, rate, generator: np.where(
        generator.random(shape) < 0.5, independent(shape, rate, generator), repeated(shape, rate, generator)
    ),
    "mask.shared": lambda shape, rate, generator: independent(shape, rate, generator)[[0, 1, 2, 3, 4, 5, 6, 2]],
    "seed.other": lambda shape, rate, generator: np.where(
        generator.random(shape) < 0.4, independent(shape, rate, generator), CONSTANT
    ),
}
CONSTANT = independent(MANY, 0.5, np.random.default_rng(0))


def repeated(shape: tuple[int, ...], rate: float, generator: np.random.Generator) -> np.ndarray:
    return np.repeat(independent((shape[0], shape[1] // 2, shape[2]), rate, generator), 2, axis=1)


@pytest.mark.parametrize("key", OF_CHANCE)
def test_each_law_about_chance_sees_what_it_says(key: str) -> None:
    """Entries dropped too often or too seldom; a half of all neighbours, two samples, or the seeds' masks shared."""
    program = Program(WRONG[key])
    held = sum(judged(key, program, case_of(seed, 0.5)) for seed in range(20))
    assert held <= {"mask.neighbours": 10}.get(key, 1)


@pytest.mark.parametrize(("number", "percent"), [(128, 50), (256, 62), (1024, 80), (2048, 10), (2048, 1)])
def test_the_bounds_leave_out_less_than_a_false_alarm_and_not_much_less(number: int, percent: int) -> None:
    least, most = likely(number, percent / 100, 0.0)

    def chance(counts: range) -> float:
        ways = sum(comb(number, k) * percent**k * (100 - percent) ** (number - k) for k in counts)
        return float(Fraction(ways, 100**number))

    assert chance(range(least)) <= FALSE_ALARM / 2
    assert chance(range(most + 1, number + 1)) <= FALSE_ALARM / 2
    # Of Chernoff's bound the exact tail is a few times √n at most.
    assert chance(range(most - 8, number + 1)) > FALSE_ALARM / 1000


def test_the_bounds_hold_for_every_probability_within_the_slack() -> None:
    wide, exact = likely(2048, 0.3, 0.01), [likely(2048, p, 0.0) for p in (0.29, 0.3, 0.31)]
    assert all(wide[0] <= least and most <= wide[1] for least, most in exact)
    assert likely(100, 0.0, 0.0) == (0, 0)
    assert likely(100, 1.0, 0.0) == (100, 100)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.8])
def test_the_slack_of_an_agreement_covers_every_rate_within_the_resolution(rate: float) -> None:
    off = resolution("bfloat16")
    probability, slack = agreement(rate, off)
    for other in np.linspace(rate - off, rate + off, 11):
        assert abs(other**2 + (1 - other) ** 2 - probability) <= slack + 1e-15


def test_two_libraries_agree_where_they_drew_the_same() -> None:
    pytest.importorskip("torch")
    found = compare_implementations("numpy", "torch", operations=("dropout", "dropout_backward"), dtypes=("float32",))
    assert [one.operation.name for one in found.operations] == ["dropout", "dropout_backward"]
    assert found.verdict == "agree"


def test_a_wrong_factor_of_one_of_them_is_a_difference() -> None:
    class Wrong(Program):
        def dropout(self, x, *, rate, seed, training=True):
            return super().dropout(x, rate=rate, seed=seed, training=training) * np.float32(1.5)

    found = compare_implementations("numpy", Wrong(independent), operations=("dropout",), dtypes=("float32",))
    assert found.verdict == "part"


def test_what_was_drawn_is_no_argument_and_is_forgotten_with_the_result() -> None:
    inputs = draw_inputs("dropout", case_of(0, 0.5))
    known = inputs.as_drawn(np.zeros(inputs.x.shape))
    assert "drawn" not in known.arguments()
    assert not known.expected(standard_conventions()).value[inputs.x != 0.0].any()
    assert inputs.drawn is None
    assert replace(known, drawn=None).expected(standard_conventions()).value.any()
