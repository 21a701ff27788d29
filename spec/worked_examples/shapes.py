"""Shapes as exact tuples: integers, or symbols where a document leaves a size open."""

from __future__ import annotations

from typing import TypeAlias

import sympy

Shape: TypeAlias = tuple[sympy.Expr, ...]


def shape(*sizes: sympy.Expr | int) -> Shape:
    """Return a shape from integers and symbols."""
    return tuple(sympy.sympify(size) for size in sizes)


def product_shape(left: Shape, right: Shape) -> Shape:
    """Return the shape of a (batched) matrix product; ValueError when the inner sizes differ."""
    if left[-1] != right[-2]:
        raise ValueError(f"inner sizes must agree in a matrix product; received {left} and {right}")
    return (*broadcast_shape(left[:-2], right[:-2]), left[-2], right[-1])


def broadcast_shape(left: Shape, right: Shape) -> Shape:
    """Return the shape of an elementwise sum; ValueError when neither size of an axis is 1 nor both are equal."""
    width = max(len(left), len(right))
    padded = [(sympy.Integer(1),) * (width - len(sizes)) + sizes for sizes in (left, right)]
    for a, b in zip(*padded, strict=True):
        if a != b and 1 not in (a, b):
            raise ValueError(f"axes must be equal or 1 to broadcast; received {left} and {right}")
    return tuple(b if a == 1 else a for a, b in zip(*padded, strict=True))


def transposed_shape(sizes: Shape) -> Shape:
    """Exchange the last two axes."""
    return (*sizes[:-2], sizes[-1], sizes[-2])


def concatenated_shape(sizes: Shape, count: sympy.Expr | int, axis: int = -1) -> Shape:
    """Return the shape of `count` arrays of one shape joined along `axis`."""
    index = axis % len(sizes)
    return (*sizes[:index], sizes[index] * count, *sizes[index + 1 :])


def attention_shape(query: Shape, key: Shape, value: Shape) -> Shape:
    """Return the shape of (Q Kᵀ) V; ValueError when widths of Q and K or lengths of K and V differ."""
    return product_shape(product_shape(query, transposed_shape(key)), value)


def multiplications(left: Shape, right: Shape) -> sympy.Expr:
    """Return how many numbers a matrix product multiplies: rows times inner size times columns."""
    return sympy.Mul(*product_shape(left, right)) * left[-1]
