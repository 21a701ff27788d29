"""The pictures of topics and derivations, computed by the reference: masks, positions, saturation, rounding."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.operations.training.variants import TRAINING_STEPS
from veriformer.pictures.from_arrays import inner_products, mask, turned, weights
from veriformer.pictures.model import Chart, ErrorBar, Line, Picture, Row

Array = np.ndarray[Any, np.dtype[Any]]

_WIDTHS = (1, 4, 16, 64, 256, 1024)
_KEYS, _DRAWS = 8, 200
_LENGTH, _WIDTH, _CLOCKS = 8, 8, 6
_TERMS = 1000
_STEPS = 20
# Of which both the loss and its gradient are wrong.
_SHIFTED = "labels_not_shifted"
_IN_TRAINING = (
    ("gradients never set to zero", ("gradients", "gradients_not_zeroed")),
    ("moments lost after every step", ("state", "optimizer_made_anew")),
    ("labels not shifted", ("loss.shift", _SHIFTED), ("slope.shift", _SHIFTED)),
)


def of_topic(topic: str) -> list[Picture]:
    """Return the pictures of a topic; most have none."""
    return [draw() for draw in _OF_TOPICS.get(topic, ())]


def of_derivation(derivation: str) -> list[Picture]:
    """Return the pictures of a derivation; most have none."""
    return [draw() for draw in _OF_DERIVATIONS.get(derivation, ())]


def saturation() -> Chart:
    """Return the largest weight of random queries and keys against their width, with √d_k and without."""
    title = f"The largest of {_KEYS} weights; queries and keys are standard normal, the mean of {_DRAWS} draws"
    return _against_width(title, "largest weight", "x", lambda p: p)


def vanishing_gradient() -> Chart:
    """Return the derivative of the largest weight by its own logit, on the same queries and keys."""
    title = "The derivative of the largest weight by its own logit, for the same queries and keys"
    return _against_width(title, "derivative", "xy", lambda p: p * (1 - p))


def causal_weights() -> Row:
    """Return the causal mask beside the weights of equal logits."""
    visible = np.tril(np.ones((4, 4), dtype=bool))
    equal = np.asarray(reference.masked_softmax(np.zeros((4, 4)), visible))
    return Row("Causal attention of equal logits", (mask("who sees whom", visible), weights("weights", equal)))


def visibility() -> Row:
    """Return the masks that Transformers build."""
    ahead = np.subtract.outer(np.arange(6), np.arange(6))
    padded = np.arange(6) < np.array([[6], [4], [3]])
    shown = (
        mask("causal", ahead >= 0),
        mask("causal, and no more than 2 to the left", (ahead >= 0) & (ahead <= 2)),
        mask("padding, lengths 6, 4 and 3", padded, axes=("sample", "key")),
        mask("causal, the first two keys are padding", (ahead >= 0) & (np.arange(6) >= 2)),
    )
    return Row("Who sees whom", shown)


def sinusoidal_clocks() -> Picture:
    """Return the first positions as clocks."""
    frequencies = np.asarray(reference.sinusoidal_frequencies(_WIDTH))
    return turned(
        "A position is a row of clocks, each slower than the one before", range(_CLOCKS), frequencies.tolist()
    )


def sinusoidal_products() -> Picture:
    """Return how far each two sinusoidal positions agree."""
    table = np.asarray(reference.sinusoidal_positions(_LENGTH, _WIDTH))
    return inner_products("Inner products of positions: the same along each diagonal", table)


def rotary_clocks() -> Picture:
    """Return by how much each pair of components is turned."""
    frequencies = np.asarray(reference.rotary_frequencies(_WIDTH))
    return turned("By how far each pair of components is turned", range(_CLOCKS), frequencies.tolist())


def rotary_products() -> Picture:
    """Return how far one vector agrees with itself, turned by each two positions."""
    rows = np.ones((1, 1, _LENGTH, _WIDTH))
    rotated = np.asarray(reference.rotary_embedding(rows, np.arange(_LENGTH)))[0, 0]
    return inner_products(
        "The inner products of one vector, turned by two positions: the same along each diagonal", rotated
    )


def rounding() -> Row:
    """Return the error of a sum in float32 beside that of a sum without its last term."""
    terms = np.random.default_rng(0).standard_normal(_TERMS).astype(np.float32)
    exact = fsum(terms.tolist())
    unit = 2.0**-24
    explained = _TERMS * unit / (1 - _TERMS * unit) * float(np.abs(terms.astype(np.float64)).sum())
    one_by_one = float(np.cumsum(terms, dtype=np.float32)[-1])
    shortened = float(np.cumsum(terms[:-1], dtype=np.float32)[-1])
    bars = (
        ErrorBar(f"{_TERMS} float32 numbers, added one by one", abs(one_by_one - exact), explained),
        ErrorBar("the same without the last of them", abs(shortened - exact), explained),
    )
    return Row("A rounding error and a mistake, beside what rounding explains", bars)


def training_curves() -> Chart:
    """Return the losses of twenty steps of the reference, and of programs with a mistake each.

    The task is to count: each token is the one before plus 1. All start from the same weights and see the same batches.
    """
    generator = np.random.default_rng(0)
    sizes = {"num_layers": 1, "d_model": 8, "num_heads": 2, "num_kv_heads": 2, "d_ff": 16, "vocabulary_size": 5}
    config = reference.configure("gpt", **sizes, max_length=6, eps=1e-5)
    weights = reference.weight_tree(
        config, lambda name, shape: np.ones(shape) if name == "gamma" else 0.3 * generator.normal(size=shape)
    )
    tokens = (generator.integers(0, 5, (_STEPS, 4, 1)) + np.arange(6)) % 5
    settings = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.01}
    arguments = {"tokens": tokens, "weights": weights, "config": config, "learning_rates": (0.05,) * _STEPS, **settings}
    right, _ = reference.training_steps(**arguments)
    lines = [Line("as the reference", _points(right))]
    for label, *changes in _IN_TRAINING:
        wrong = TRAINING_STEPS.standard.changed(*changes).compute(arguments)
        lines.append(Line(label, _points(wrong[:_STEPS])))
    title = "The loss of a model that learns to count, and of programs with a mistake each"
    return Chart(title, tuple(lines), "step", "loss of next tokens")


def _points(losses: Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(step), float(loss)) for step, loss in enumerate(losses, start=1))


def _against_width(title: str, y_axis: str, logarithmic: Any, of: Callable[[Array], Array]) -> Chart:
    def line(label: str, *, scaled: bool) -> Line:
        return Line(label, tuple((float(d), float(of(_largest_weights(d, scaled)).mean())) for d in _WIDTHS))

    lines = (line("divided by √d_k", scaled=True), line("not divided", scaled=False))
    return Chart(title, lines, "d_k", y_axis, logarithmic)


def _largest_weights(d: int, scaled: bool) -> Array:
    """Return the largest weight of each draw."""
    generator = np.random.default_rng(0)
    query, key = generator.standard_normal((_DRAWS, 1, d)), generator.standard_normal((_DRAWS, _KEYS, d))
    logits = (query @ key.swapaxes(-1, -2))[:, 0]
    return np.asarray(reference.softmax(logits / np.sqrt(d) if scaled else logits)).max(axis=-1)


_OF_TOPICS: dict[str, tuple[Callable[[], Picture], ...]] = {
    "attention": (causal_weights, saturation),
    "masks": (visibility,),
    "softmax": (saturation, vanishing_gradient),
    "sinusoids": (sinusoidal_clocks, sinusoidal_products),
    "rotary": (rotary_clocks, rotary_products),
    "normalisation": (rounding,),
    "training": (training_curves,),
}
_OF_DERIVATIONS: dict[str, tuple[Callable[[], Picture], ...]] = {
    "variance_scaling": (saturation, vanishing_gradient),
    "saturation": (saturation, vanishing_gradient),
    "sinusoid_relative_position": (sinusoidal_clocks, sinusoidal_products),
    "rotary": (rotary_clocks, rotary_products),
    "causality": (causal_weights,),
    "masking": (visibility,),
    "windows": (visibility,),
    "rounding_of_sums": (rounding,),
}
