"""Rounding error of schedules of the learning rate.

A schedule is given no array, so that nothing says in which precision it works: u is the unit roundoff of float32. A
step is exact in it, up to 2²⁴.

    warm-up    8 u P                P t/W, or P − P (1 − t/W), of the peak P: the rates, the quotient, the difference,
                                    the product and the sum, and no intermediate result above P
    cosine     (2πx + 12) u P       the share x that is over and π err by 2u of themselves, so that the angle πx errs by
                                    4uπx, and its cosine by no more and 2u; half of it, which the height P − l below P
                                    multiplies; the sum with 1, the height, the product, its factor and the sum with l

    root       2u (3 e + 6) η       a power of a number is exp(e), e its exponent times its logarithm, of which
                                    logarithm, exponent and product err by 2u each, since a library's logarithm and
                                    exponential may be two units off: 6u e and 2u; e is the sum over all powers; the
                                    products and the roundings of the integers are the rest, and min has the slope 1

The result is rounded once more, which is counted.
"""

from __future__ import annotations

import math

from veriformer.conformance_tests.rounding.precision import UNIT_ROUNDOFF

_UNIT = UNIT_ROUNDOFF["float32"]


def cosine_bound(progress: float, peak: float) -> float:
    """Return the error of a rate of which `progress` is over, from 0 to 1; below 0 in the warm-up."""
    return _UNIT * peak * (8.0 if progress < 0.0 else 2.0 * math.pi * min(progress, 1.0) + 12.0)


def root_bound(step: int, d_model: int, warmup_steps: int, rate: float) -> float:
    """Return the error of a rate that falls as an inverse root."""
    exponents = 0.5 * math.log(d_model) + max(0.5 * math.log(step), 1.5 * math.log(warmup_steps) + math.log(step))
    return 2.0 * _UNIT * (3.0 * exponents + 6.0) * rate
