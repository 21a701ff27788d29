from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import cross_entropy, log_sum_exp, softmax

torch = pytest.importorskip("torch")

UNIT_ROUNDOFF = 2.0**-53
PADDED = np.array([[1, -100, 0], [-100, -100, 2]])


def drawn(*shape, spread=1.0):
    return np.random.default_rng(sum(shape)).normal(size=shape) * spread


def exact_cross_entropy(logits, targets, ignore_index, label_smoothing):
    """−Σ y ln p by loops over 50-digit numbers, with p from its definition and no logarithm of a sum."""
    losses = []
    for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.ravel(), strict=True):
        if target == ignore_index:
            continue
        exponentials = [mpmath.exp(mpmath.mpf(float(x))) for x in row]
        share = mpmath.mpf(label_smoothing) / len(row)
        loss = mpmath.mpf(0)
        for k, exponential in enumerate(exponentials):
            weight = share + (1 - mpmath.mpf(label_smoothing) if k == target else 0)
            loss -= weight * mpmath.log(exponential / sum(exponentials))
        losses.append(loss)
    return sum(losses) / len(losses)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("targets", "ignore_index"), [(np.array([[1, 3, 0], [2, 2, 1]]), None), (PADDED, -100)])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 1e3])
def test_exact(exact, spread, targets, ignore_index, label_smoothing):
    logits = drawn(2, 3, 4, spread=spread)
    got = cross_entropy(logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing)
    expected = np.asarray(exact_cross_entropy(logits, targets, ignore_index, label_smoothing), dtype=object)
    # Every number on the way is at most twice the largest logit plus ln 4; at most 40 roundings, of N and B L sums.
    bound = 40 * UNIT_ROUNDOFF * (2 * np.abs(logits).max() + np.log(4))
    exact.assert_within(got, expected, bound, 1e-9)


@pytest.mark.parametrize("ignore_index", [1, 7, -1])
def test_ignored_targets_are_as_if_they_were_not_there(ignore_index):
    logits, targets = drawn(1, 5, 3), np.array([[0, 2, 0, 2, 2]])
    kept = np.array([True, False, True, True, False])
    got = cross_entropy(logits, np.where(kept, targets, ignore_index), ignore_index=ignore_index)
    np.testing.assert_array_equal(got, cross_entropy(logits[:, kept], targets[:, kept]))


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf])
def test_nothing_at_an_ignored_target_reaches_the_loss(garbage):
    logits = drawn(2, 3, 4)
    spoiled = np.where((PADDED == -100)[..., None], garbage, logits)
    expected = cross_entropy(logits, PADDED, ignore_index=-100, label_smoothing=0.1)
    np.testing.assert_array_equal(cross_entropy(spoiled, PADDED, ignore_index=-100, label_smoothing=0.1), expected)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("ignore_index", [None, -100, 0])
def test_value_and_gradient_of_torch(ignore_index, label_smoothing):
    targets = PADDED if ignore_index == -100 else np.array([[1, 3, 0], [2, 2, 1]])
    logits = drawn(2, 3, 4)
    tensor = torch.tensor(logits, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(
        tensor.flatten(0, 1),
        torch.tensor(targets).flatten(),
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )
    loss.backward()

    def reference(changed):
        return float(cross_entropy(changed, targets, ignore_index=ignore_index, label_smoothing=label_smoothing))

    np.testing.assert_allclose(reference(logits), loss.item(), rtol=1e-13)
    step = 1e-5
    for index in np.ndindex(logits.shape):
        moved = np.zeros_like(logits)
        moved[index] = step
        slope = (reference(logits + moved) - reference(logits - moved)) / (2 * step)
        # Third derivatives of ln Σ e^z are below 1, values below 10: step²/6 and u · 10 / step.
        np.testing.assert_allclose(slope, tensor.grad[index].item(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize(("targets", "ignore_index"), [(np.array([[1, 3, 0], [2, 2, 1]]), None), (PADDED, -100)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_reductions_are_those_of_torch(reduction, targets, ignore_index, label_smoothing):
    logits = drawn(2, 3, 4)
    settings = {"label_smoothing": label_smoothing, "reduction": reduction}
    got = cross_entropy(logits, targets, ignore_index=ignore_index, **settings)
    of_torch = torch.nn.functional.cross_entropy(
        torch.tensor(logits).transpose(1, 2), torch.tensor(targets), ignore_index=ignore_index or -100, **settings
    )
    np.testing.assert_allclose(got, of_torch.numpy(), rtol=1e-13, atol=0)
    assert got.shape == ((2, 3) if reduction == "none" else ())


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 1.0])
def test_a_sum_is_that_of_exact_losses_and_of_each(label_smoothing):
    logits = drawn(2, 3, 4, spread=30.0)
    settings = {"ignore_index": -100, "label_smoothing": label_smoothing}
    total = cross_entropy(logits, PADDED, reduction="sum", **settings)
    exact = 3 * exact_cross_entropy(logits, PADDED, -100, label_smoothing)
    np.testing.assert_allclose(total, float(exact), rtol=100 * UNIT_ROUNDOFF)
    each = cross_entropy(logits, PADDED, reduction="none", **settings)
    assert not each[PADDED == -100].any() and each[PADDED != -100].all()
    np.testing.assert_allclose(each.sum(), total, rtol=4 * UNIT_ROUNDOFF)


def test_where_nothing_is_kept_the_sum_is_zero():
    settings = {"ignore_index": 1, "targets": np.array([[1, 1]])}
    assert cross_entropy(drawn(1, 2, 3), reduction="sum", **settings) == 0.0
    np.testing.assert_array_equal(cross_entropy(drawn(1, 2, 3), reduction="none", **settings), [[0.0, 0.0]])


def test_each_loss_at_the_end_of_the_range_is_its_own():
    logits = np.array([[[1e308, -1e308], [0.0, 1.0], [-1e308, 0.0]]])
    with np.errstate(all="raise", under="ignore"):
        each = cross_entropy(logits, np.array([[0, 1, 0]]), reduction="none")
    np.testing.assert_allclose(each, [[0.0, np.log1p(np.exp(-1.0)), 1e308]], rtol=4 * UNIT_ROUNDOFF)


def test_log_sum_exp_is_the_logarithm_of_the_denominator_of_softmax():
    x = drawn(5, 7)
    np.testing.assert_allclose(np.exp(x - log_sum_exp(x)[:, None]), softmax(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ([1e300, 1e300], 1e300),
        ([1e308, -1e308], 1e308),
        ([-1e308, 1e308, -np.inf], 1e308),
        ([-np.inf, 3.0], 3.0),
        ([-np.inf, -np.inf], -np.inf),
        ([], -np.inf),
    ],
)
def test_log_sum_exp_beyond_the_range_of_exp(row, value):
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_array_equal(log_sum_exp(np.array(row)), value)


@pytest.mark.parametrize("ignore_index", [None, 0])
def test_a_class_of_infinite_unlikelihood_has_no_part_in_the_loss(ignore_index):
    logits = np.array([[[1.5, -0.25, -np.inf, 0.5], [0.0, -np.inf, 2.0, 1.0]]])
    targets = np.array([[1, 2]])
    got = cross_entropy(logits, targets, ignore_index=ignore_index)
    without = np.array([[[1.5, -0.25, 0.5], [0.0, 2.0, 1.0]]])
    expected = exact_cross_entropy(without, np.array([[1, 1]]), None, 0.0)
    assert abs(got - float(expected)) <= 10 * UNIT_ROUNDOFF
    tensor = torch.tensor(logits).flatten(0, 1)
    of_torch = torch.nn.functional.cross_entropy(tensor, torch.tensor(targets).flatten()).item()
    assert abs(got - of_torch) <= 10 * UNIT_ROUNDOFF


@pytest.mark.parametrize(
    ("target", "label_smoothing", "loss"),
    [(1, 0.0, np.inf), (1, 1.0, np.inf), (0, 0.1, np.inf), (0, 1.0, np.inf), (0, 0.0, 0.0)],
)
def test_a_class_that_has_weight_and_no_probability_costs_infinity(target, label_smoothing, loss):
    logits = np.array([[[3.0, -np.inf]]])
    assert cross_entropy(logits, np.array([[target]]), label_smoothing=label_smoothing) == loss
    tensor = torch.tensor(logits[0])
    of_torch = torch.nn.functional.cross_entropy(tensor, torch.tensor([target]), label_smoothing=label_smoothing)
    # torch multiplies the infinity by 1 − ε = 0.
    assert of_torch.item() == loss or label_smoothing == 1.0


@pytest.mark.parametrize(
    ("logits", "targets", "label_smoothing", "loss"),
    [
        # Each pair of a target and its rival differs by 2e308, which float64 cannot hold, though the mean can.
        ([[[1e308, -1e308]]], [[0]], 0.0, 0.0),
        ([[[1e308, -1e308]]], [[0]], 0.125, 1.25e307),
        ([[[1e308, -1e308], [0.0, 0.0]]], [[1, 0]], 0.0, 1e308),
        ([[[0.0, -1e308], [0.0, -1e308], [0.0, -1e308]]], [[1, 1, 1]], 0.0, 1e308),
        ([[[1e308, 1e308]]], [[0]], 0.5, np.log(2.0)),
        ([[[-1e308, -1e308, -np.inf]]], [[1]], 0.0, np.log(2.0)),
        ([[[1e308, -1e308]]], [[1]], 0.0, np.inf),
    ],
)
def test_logits_at_the_end_of_the_range_do_not_overflow(logits, targets, label_smoothing, loss):
    with np.errstate(all="raise", under="ignore"):
        got = cross_entropy(np.array(logits), np.array(targets), label_smoothing=label_smoothing)
    # The logarithm of the sum of exponentials is as large as the logits, and rounds once.
    largest = np.abs(np.array(logits)[np.isfinite(logits)]).max()
    np.testing.assert_allclose(got, loss, rtol=4 * UNIT_ROUNDOFF, atol=UNIT_ROUNDOFF * largest)


ERRORS = {
    "no class": (lambda: cross_entropy(drawn(2, 3, 4), PADDED), "classes 0 to 3", "-100", "ignore_index"),
    "none kept": (lambda: cross_entropy(drawn(1, 1, 2), np.array([[1]]), ignore_index=1), "one target", "none"),
    "reduction": (
        lambda: cross_entropy(drawn(1, 1, 2), np.array([[1]]), reduction="average"),
        "reduction must be one of",
        "'sum'",
        "'average'",
    ),
    "share": (lambda: cross_entropy(drawn(1, 1, 2), np.array([[1]]), label_smoothing=1.5), "0 and 1", "1.5", "0.1"),
    "shape": (lambda: cross_entropy(drawn(2, 3, 4), PADDED[:, :2]), "(B, L) = (2, 3)", "(2, 2)", "each position"),
    "dtype": (lambda: cross_entropy(drawn(2, 3, 4), PADDED * 1.0), "integers", "float64", "each position"),
}


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong_what_was_received_and_what_to_do(name):
    call, *words = ERRORS[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
