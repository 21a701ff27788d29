"""The precisions in which the parts of a computation are done, and how rounding errors accumulate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array

UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
# The smallest normal number, not the smallest subnormal: hardware may flush subnormals to zero.
SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
# λ, and the part of n that equal terms need, see `growth`.
_GROWTH = 8.0
_COHERENT = 3.0 / 8.0
# No processor in use flushes subnormal float16 to zero, nor do conversions to and from it.
_SMALLEST_SUBNORMAL = {"float16": 2.0**-24}


@dataclass(frozen=True)
class Precision:
    """Unit roundoffs of one computation, part by part.

    `accumulation` is that of sums and products inside a matrix product, `stored` that of intermediate results
    (logits, softmax, weights), `output` that of the result. `tiny` is the absolute error of underflow, however often it
    happens; `underflow` that of a quotient and of its operands, each rounded once. `fused` says that logits,
    exponentials and their sum are never stored but kept in `accumulation`: see `kept`.
    """

    accumulation: float
    stored: float
    output: float
    tiny: float
    underflow: float
    fused: bool = False

    @classmethod
    def of(cls, dtype: str, softmax_dtype: str = "input", numerics: str = "eager") -> Precision:
        """Return the precision of an implementation that computes in `dtype`.

        Low-precision dtypes accumulate in float32 and may round every intermediate result to the dtype, as
        eager code does, unless `numerics` is fused; in float32 and float64 the two are the same. `softmax_dtype`
        float32 lowers float64 work to float32 where an implementation does so.
        """
        unit = UNIT_ROUNDOFF[dtype]
        accumulation = min(unit, UNIT_ROUNDOFF["float32"]) if dtype != "float64" else unit
        if softmax_dtype != "float32":
            tiny = SMALLEST_NORMAL[dtype]
            fused = numerics == "fused" and accumulation < unit
            return cls(accumulation, unit, unit, tiny, _SMALLEST_SUBNORMAL.get(dtype, tiny), fused)
        # The sum of the exponentials is then of float32 too, and weights that float64 would hold underflow.
        single, tiny = UNIT_ROUNDOFF["float32"], SMALLEST_NORMAL["float32"]
        tiny = max(SMALLEST_NORMAL[dtype], tiny)
        return cls(max(accumulation, single), max(unit, single), unit, tiny, tiny)

    @classmethod
    def under(cls, dtype: str, conventions: Mapping[str, str]) -> Precision:
        """Return the precision of attention in `dtype` under the conventions that bear on it."""
        return cls.of(dtype, conventions.get("softmax_dtype", "input"), conventions.get("numerics", "eager"))

    @property
    def kept(self) -> float:
        """The unit roundoff of logits, exponentials and their sum, which fused kernels do not store."""
        return self.accumulation if self.fused else self.stored

    @property
    def logarithm(self) -> float:
        """The unit roundoff of a normaliser kept as its logarithm, which no kernel keeps in less than float32."""
        return min(self.stored, UNIT_ROUNDOFF["float32"])

    def flushed(self, operand: Array) -> Array:
        """Return by how much a processor may misread an operand: subnormal numbers as zero."""
        magnitude = np.abs(operand)
        return np.where(magnitude < self.underflow, magnitude, 0.0)

    @property
    def with_reference(self) -> float:
        """The factor by which a bound grows because the float64 reference rounds too.

        Bounds are linear in the unit roundoff to first order, so the reference's own is theirs times the ratio.
        """
        return 1.0 + UNIT_ROUNDOFF["float64"] / min(self.kept, self.output)

    def growth(self, terms: int) -> float:
        """Return the relative error bound of a sum of `terms` products.

        γ = m u / (1 − m u), m = min(n, max(8 √n, 3n/8)): the worst case for n ≤ 64 (Higham 2002, section 3.1), then
        the probabilistic bound (Higham & Mary 2019, theorem 2.4), and from n = 456 on that of equal terms added one
        after the other, whose errors do not average out: all have one sign while the sum stays between two powers of
        two. Derivation: rounding_of_sums.
        """
        count = max(terms, 1)
        error = min(count, max(_GROWTH * math.sqrt(count), _COHERENT * count)) * self.accumulation
        return error / (1.0 - error)

    def stored_sums(self, additions: int) -> float:
        """Return m u + u′, the exponent of the relative error e^x − 1 of a sum whose partial sums are stored.

        m is that of `growth`, of the additions: products of (1 + u) are no more than e^u each. The bound holds for sums
        that are accumulated more widely too, which are rounded once more, at the end. A single term is a copy: 0.
        """
        if additions == 0:
            return 0.0
        growth = self.growth(additions)
        # m times the accumulation's roundoff, of which growth is γ.
        roundings = growth / (1.0 + growth)
        return roundings * self.stored / self.accumulation + self.output
