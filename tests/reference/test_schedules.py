"""Schedules of the learning rate, against arithmetic of many digits, transformers and optax."""

from __future__ import annotations

import mpmath
import pytest
from veriformer.reference import warmup_cosine_learning_rate, warmup_inverse_root_learning_rate

RUNS = ((0, 1), (0, 7), (1, 2), (4, 10), (5, 30), (100, 1000))
RATES = ((1.0, 0.1), (6e-4, 6e-5), (0.25, 0.0), (0.5, 0.5))


def steps_of(warmup, total):
    return sorted({0, 1, warmup // 2, max(warmup - 1, 0), warmup, warmup + 1, (warmup + total) // 2, total, 2 * total})


def exact_cosine(step, peak, least, warmup, total, before=0):
    """The rate in 40 digits, as a sum of squares: (1 + cos 2a)/2 = cos² a."""
    if step < warmup:
        return mpmath.mpf(peak) * (step + before) / (warmup + before)
    half = mpmath.pi / 2 * (min(step, total) - warmup) / (total - warmup)
    return mpmath.mpf(peak) * mpmath.cos(half) ** 2 + mpmath.mpf(least) * mpmath.sin(half) ** 2


@pytest.mark.parametrize(("warmup", "total"), RUNS)
@pytest.mark.parametrize(("peak", "least"), RATES)
@pytest.mark.parametrize(("start", "before"), [("zero", 0), ("first_share", 1)])
def test_many_digits(warmup, total, peak, least, start, before):
    with mpmath.workdps(40):
        for step in steps_of(warmup, total):
            got = warmup_cosine_learning_rate(
                step, peak=peak, least=least, warmup_steps=warmup, total_steps=total, warmup_start=start
            )
            exact = exact_cosine(step, peak, least, warmup, total, before)
            assert abs(got - exact) <= 1e-15 * peak, step


@pytest.mark.parametrize(("warmup", "total"), RUNS)
@pytest.mark.parametrize(("peak", "least"), RATES)
def test_optax_agrees(warmup, total, peak, least):
    pytest.importorskip("jax")
    optax = pytest.importorskip("optax")
    schedule = optax.warmup_cosine_decay_schedule(0.0, peak, warmup, total, least)
    for step in steps_of(warmup, total):
        got = warmup_cosine_learning_rate(step, peak=peak, least=least, warmup_steps=warmup, total_steps=total)
        assert got == pytest.approx(float(schedule(step)), abs=1e-6 * peak), step


@pytest.mark.parametrize(("warmup", "total"), RUNS)
def test_transformers_agrees_up_to_the_end(warmup, total):
    """With a least rate of 0: the other schedule of transformers divides the least by the peak."""
    torch, optimization = pytest.importorskip("torch"), pytest.importorskip("transformers.optimization")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.25)
    schedule = optimization.get_cosine_schedule_with_warmup(optimizer, warmup, total)
    for step in range(min(total, 60) + 1):
        got = warmup_cosine_learning_rate(step, peak=0.25, least=0.0, warmup_steps=warmup, total_steps=total)
        assert got == pytest.approx(schedule.get_last_lr()[0], abs=1e-15), step
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize("d_model", [1, 4, 512, 768])
@pytest.mark.parametrize("warmup", [1, 2, 16, 4000])
def test_the_inverse_root_in_many_digits(d_model, warmup):
    with mpmath.workdps(40):
        for step in sorted({1, 2, max(warmup // 2, 1), warmup, warmup + 1, 4 * warmup, 100_000}):
            exact = min(mpmath.sqrt(mpmath.mpf(1) / step), step / mpmath.sqrt(mpmath.mpf(warmup) ** 3))
            exact /= mpmath.sqrt(d_model)
            got = warmup_inverse_root_learning_rate(step, d_model=d_model, warmup_steps=warmup)
            assert abs(got - exact) <= 2e-15 * exact, step


def test_the_base_model_of_the_paper():
    """512 wide, 4000 steps of warm-up: 1/√(512 · 4000) at the peak."""
    got = warmup_inverse_root_learning_rate(4000, d_model=512, warmup_steps=4000)
    assert got == pytest.approx(6.987712429686843e-4, rel=1e-14)


COSINE = {"peak": 1.0, "least": 0.1, "warmup_steps": 2, "total_steps": 10}


@pytest.mark.parametrize(
    ("step", "changed", "message"),
    [
        (-1, {}, "step must be an integer of at least 0; got -1"),
        (0, {"warmup_steps": -1}, "warmup_steps must be an integer of at least 0; got -1"),
        (0, {"total_steps": 2}, "total_steps must be an integer of at least 3; got 2"),
        (0, {"least": 2.0}, "0 <= least <= peak and 0 < peak; got least = 2.0 and peak = 1.0; pass the largest rate"),
        (0, {"least": -0.1}, "got least = -0.1 and peak = 1.0"),
        (0, {"peak": 0.0, "least": 0.0}, "got least = 0.0 and peak = 0.0"),
    ],
)
def test_errors_of_the_cosine_say_what_to_do(step, changed, message):
    with pytest.raises(ValueError, match=message):
        warmup_cosine_learning_rate(step, **{**COSINE, **changed})


@pytest.mark.parametrize(
    ("step", "d_model", "warmup", "name"), [(0, 4, 4, "step"), (1, 0, 4, "d_model"), (1, 4, 0, "warmup_steps")]
)
def test_errors_of_the_root_say_what_to_do(step, d_model, warmup, name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1; got 0"):
        warmup_inverse_root_learning_rate(step, d_model=d_model, warmup_steps=warmup)
