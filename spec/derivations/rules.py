"""The rules of proof that are not provers: what each is called, and what it rests on."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A rule by which steps are proved: its name, and the facts that it uses, in words."""

    name: str
    rests_on: str


EVALUATION = Rule(
    "evaluation", "the arithmetic of sums, products, powers, e^x and ln x makes one expression of both sides"
)
NON_NEGATIVE = Rule(
    "non-negative by its form",
    "numbers ≥ 0, even powers and exponentials of real numbers, what is given as ≥ 0, sums and products of these; "
    "1 − e^(−t), erf t and 1 − erf t for t ≥ 0",
)
LIMIT = Rule(
    "the limit by the Gruntz algorithm", "the algorithm compares how fast the exponentials and logarithms grow"
)
EXAMPLE = Rule(
    "an example in interval arithmetic",
    "each side lies between two bounds that include every rounding error, and the bounds of the two sides do not "
    "overlap",
)
ZEROS = Rule("the zeros of the left side", "π is irrational (Lambert 1761)")
