"""Exact arithmetic on nested tuples of SymPy numbers: radicals and exponentials stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import sympy

Exact: TypeAlias = "sympy.Basic | tuple[Exact, ...]"
Vector: TypeAlias = tuple[sympy.Expr, ...]
Matrix: TypeAlias = tuple[Vector, ...]


def vector(text: str) -> Vector:
    """Read exact rationals separated by spaces, such as "0.2 0.5 1/3"."""
    return tuple(sympy.Rational(word) for word in text.split())


def matrix(*texts: str) -> Matrix:
    """Read one row of exact rationals from each string."""
    return tuple(vector(text) for text in texts)


def identity(size: int) -> Matrix:
    """Return the identity matrix."""
    return tuple(tuple(sympy.Integer(row == column) for column in range(size)) for row in range(size))


def dot(left: Vector, right: Vector) -> sympy.Expr:
    """Return Σ left_i right_i; ValueError when the lengths differ."""
    return sympy.Add(*(a * b for a, b in zip(left, right, strict=True)))


def transpose(rows: Matrix) -> Matrix:
    """Exchange rows and columns."""
    return tuple(zip(*rows, strict=True))


def product(left: Matrix, right: Matrix) -> Matrix:
    """Return the matrix product, every entry a dot product of a row and a column."""
    columns = transpose(right)
    return tuple(tuple(dot(row, column) for column in columns) for row in left)


def scale(rows: Matrix, factor: sympy.Expr) -> Matrix:
    """Multiply every entry by `factor`."""
    return tuple(tuple(entry * factor for entry in row) for row in rows)


def add(left: Matrix, right: Matrix) -> Matrix:
    """Add two matrices of one shape, entry by entry."""
    return tuple(tuple(a + b for a, b in zip(*pair, strict=True)) for pair in zip(left, right, strict=True))


def softmax(logits: Vector) -> Vector:
    """Return exp(x_i) / Σ_j exp(x_j); a logit of −∞ has weight 0."""
    powers = [sympy.exp(logit) for logit in logits]
    total = sympy.Add(*powers)
    return tuple(power / total for power in powers)


def additive_causal_mask(length: int) -> Matrix:
    """Return M with M_ij = 0 where j ≤ i and −∞ where j > i."""
    return tuple(
        tuple(sympy.Integer(0) if column <= row else -sympy.oo for column in range(length)) for row in range(length)
    )


def attention_weights(query: Matrix, key: Matrix, mask: Matrix | None = None) -> Matrix:
    """Return softmax(Q Kᵀ / √d_k + M), row by row."""
    scores = scale(product(query, transpose(key)), 1 / sympy.sqrt(len(query[0])))
    return tuple(softmax(row) for row in (scores if mask is None else add(scores, mask)))


def attention(query: Matrix, key: Matrix, value: Matrix, mask: Matrix | None = None) -> Matrix:
    """Return softmax(Q Kᵀ / √d_k + M) V."""
    return product(attention_weights(query, key, mask), value)


def sinusoids(positions: Sequence[int], d_model: int) -> Matrix:
    """Return PE[p, 2k] = sin(p ω_k), PE[p, 2k+1] = cos(p ω_k), ω_k = 10000^(−2k/d_model), for any width."""

    def entry(position: int, column: int) -> sympy.Expr:
        angle = position / sympy.Integer(10000) ** sympy.Rational(column - column % 2, d_model)
        return sympy.cos(angle) if column % 2 else sympy.sin(angle)

    return tuple(tuple(entry(position, column) for column in range(d_model)) for position in positions)


def layer_norm(x: Vector, eps: sympy.Expr) -> Vector:
    """Return (x − mean x) / √(mean (x − mean x)² + eps), with gain 1 and shift 0."""
    mean = sympy.Add(*x) / len(x)
    variance = sympy.Add(*((entry - mean) ** 2 for entry in x)) / len(x)
    return tuple((entry - mean) / sympy.sqrt(variance + eps) for entry in x)
