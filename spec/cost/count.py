"""Counts of scalar operations and of numbers moved, and their sums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """Scalar operations: `arithmetic` (+, −, ×, ÷ and maxima) and `functions` (e^x, √x, erf x).

    A multiplication with an addition counts 2, and a sum of n terms n additions: it starts from 0. Values that are the
    same for all inputs (√d_k, a table of positions) are not counted, nor are reading, copying and masking by selection.
    """

    arithmetic: int = 0
    functions: int = 0

    @property
    def flops(self) -> int:
        """The operations in all: a function counts like one arithmetic operation."""
        return self.arithmetic + self.functions

    def __add__(self, other: Count) -> Count:
        return Count(self.arithmetic + other.arithmetic, self.functions + other.functions)

    def __rmul__(self, times: int) -> Count:
        return Count(times * self.arithmetic, times * self.functions)


@dataclass(frozen=True)
class Traffic:
    """How many numbers an operation must read and write at least once: its inputs, parameters and outputs.

    Values kept between the parts of a computation (such as logits and weights of attention) are not counted: they need
    not leave the processor.
    """

    inputs: int
    parameters: int
    outputs: int

    @property
    def numbers(self) -> int:
        """The numbers in all."""
        return self.inputs + self.parameters + self.outputs

    def bytes(self, bytes_per_number: int) -> int:
        """Their bytes: 4 per number in float32, 2 in float16 and bfloat16."""
        return self.numbers * bytes_per_number


def exact_quotient(numerator: int, divisor: int) -> int:
    """A quotient that is known to be whole; symbols instead of integers give a fraction."""
    return numerator // divisor if isinstance(numerator, int) else numerator / divisor
