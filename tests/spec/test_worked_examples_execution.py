"""Every executable example run by plain Python loops on its plain arguments."""

from __future__ import annotations

import math
from typing import Any

import pytest
from veriformer.spec.worked_examples import ExecutableExample, executable_examples

Matrix = list[list[float]]


def multiply(left: Matrix, right: Matrix) -> Matrix:
    return [
        [math.fsum(a * row[j] for a, row in zip(line, right, strict=True)) for j in range(len(right[0]))]
        for line in left
    ]


def softmax_row(row: list[float]) -> list[float]:
    powers = [math.exp(entry - max(row)) for entry in row]
    return [power / math.fsum(powers) for power in powers]


def softmax(x: Any) -> Any:
    return [softmax_row(row) for row in x] if isinstance(x[0], list) else softmax_row(x)


def softmax_backward(x: list[float], grad_output: list[float]) -> list[float]:
    """Sum over the entries of the Jacobian, one after the other."""
    weights = softmax_row(x)
    return [
        math.fsum(g * p * ((i == j) - weights[j]) for i, (g, p) in enumerate(zip(grad_output, weights, strict=True)))
        for j in range(len(x))
    ]


def weights_of_head(query: Matrix, key: Matrix, mask: Any, is_causal: bool, scale: float | None) -> Matrix:
    factor = 1 / math.sqrt(len(query[0])) if scale is None else scale
    scores = [[factor * score for score in row] for row in multiply(query, [list(c) for c in zip(*key, strict=True)])]
    for i, row in enumerate(scores):
        for j in range(len(row)):
            if (is_causal and j > i) or (mask is not None and not mask[i][j]):
                row[j] = -math.inf
    return [softmax_row(row) for row in scores]


def attention_weights(query: Any, key: Any, mask: Any = None, is_causal: bool = False, scale: Any = None) -> Any:
    return [[weights_of_head(query[0][0], key[0][0], mask, is_causal, scale)]]


def attention(query: Any, key: Any, value: Any, **options: Any) -> Any:
    return [[multiply(attention_weights(query, key, **options)[0][0], value[0][0])]]


def multi_head_attention(x: Any, context: Any, weights: Any, num_heads: int) -> Any:
    assert num_heads == 1
    query, key, value = (
        multiply(x[0], weights["w_q"]),
        multiply(context[0], weights["w_k"]),
        multiply(context[0], weights["w_v"]),
    )
    return [multiply(attention([[query]], [[key]], [[value]])[0][0], weights["w_o"])]


def layer_norm(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    (row,) = x
    mean = math.fsum(row) / len(row)
    root = math.sqrt(math.fsum((entry - mean) ** 2 for entry in row) / len(row) + eps)
    return [[(entry - mean) / root * g + b for entry, g, b in zip(row, gamma, beta, strict=True)]]


def layer_norm_backward(x: Matrix, gamma: list[float], beta: list[float], grad_output: Matrix, eps: float) -> Any:
    """Sum over the entries of the Jacobian, one after the other."""
    (row,), (given,) = x, grad_output
    width, (y,) = len(row), layer_norm(x, [1.0] * len(row), [0.0] * len(row), eps)
    mean = math.fsum(row) / width
    root = math.sqrt(math.fsum((entry - mean) ** 2 for entry in row) / width + eps)
    of_x = [
        math.fsum(given[i] * gamma[i] * ((i == j) - 1 / width - y[i] * y[j] / width) / root for i in range(width))
        for j in range(width)
    ]
    return [[of_x], [g * entry for g, entry in zip(given, y, strict=True)], list(given)]


def adamw_step(parameter: list[float], gradient: list[float], **settings: Any) -> Any:
    assert settings["step"] == 1
    rate, decay, eps = settings["learning_rate"], settings["weight_decay"], settings["eps"]
    moved = [p - rate * (g / (abs(g) + eps) + decay * p) for p, g in zip(parameter, gradient, strict=True)]
    first = [g - settings["beta1"] * g for g in gradient]
    return [moved, first, [g * g - settings["beta2"] * g * g for g in gradient]]


def clip_by_global_norm(gradients: list[list[float]], max_norm: float) -> Any:
    norm = math.hypot(*(entry for array in gradients for entry in array))
    return [[entry / norm * min(norm, max_norm) for entry in array] for array in gradients]


def warmup_cosine(step: int, peak: float, least: float, warmup_steps: int, total_steps: int) -> float:
    """The cosine as a square: (1 + cos 2a)/2 = cos² a."""
    if step < warmup_steps:
        return peak / warmup_steps * step
    half = math.pi / 2 * (min(step, total_steps) - warmup_steps) / (total_steps - warmup_steps)
    return peak * math.cos(half) ** 2 + least * math.sin(half) ** 2


def warmup_inverse_root(step: int, d_model: int, warmup_steps: int) -> float:
    rate = 1 / math.sqrt(d_model * max(step, warmup_steps))
    return rate * min(step / warmup_steps, 1.0)


def sinusoids(length: int, d_model: int) -> Any:
    turn = (math.sin, math.cos)
    return [[turn[j % 2](p * 10000 ** (-(j - j % 2) / d_model)) for j in range(d_model)] for p in range(length)]


OPERATIONS: dict[str, Any] = {
    "softmax": softmax,
    "softmax_backward": softmax_backward,
    "attention_weights": attention_weights,
    "scaled_dot_product_attention": attention,
    "multi_head_attention": multi_head_attention,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "adamw_step": adamw_step,
    "clip_by_global_norm": clip_by_global_norm,
    "warmup_cosine_learning_rate": warmup_cosine,
    "warmup_inverse_root_learning_rate": warmup_inverse_root,
    "sinusoidal_positions": sinusoids,
    "causal_mask": lambda query_length, key_length: [[j <= i for j in range(key_length)] for i in range(query_length)],
    "padding_mask": lambda lengths, max_length: [[j < n for j in range(max_length)] for n in lengths],
}


def flat(nested: Any) -> list[Any]:
    return [entry for part in nested for entry in flat(part)] if isinstance(nested, list) else [nested]


def shape(nested: Any) -> tuple[int, ...]:
    return (len(nested), *shape(nested[0])) if isinstance(nested, list) else ()


@pytest.mark.parametrize("example", executable_examples(), ids=lambda example: example.id)
def test_plain_loops_give_the_result(example: ExecutableExample) -> None:
    result = OPERATIONS[example.operation](**example.arguments)
    assert shape(result) == shape(example.result)
    assert flat(result) == pytest.approx(flat(example.result), rel=1e-14, abs=1e-15)
