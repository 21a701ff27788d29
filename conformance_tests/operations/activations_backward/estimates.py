"""Rounding errors carried back through an activation function whose argument is wrong already.

With f the activation, z wrong by δz and the gradient g from above wrong by δg, |g| + |δg| = ḡ,

    |δ(g f′(z))| ≤ |f′(z)| |δg| + L |δz| ḡ + E,   L = max |f″|

E is the function's own error (`activation_backward_bound`) at the wrong values: that at ḡ, and the largest of those at
z and at the ends of z ± δz, plus what it may be more between them, C u |δz| ḡ.

ReLU has no derivative at 0. Where the sign of z is not certain, its gradient may be anything from 0 to g.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.operations.activations_backward.bounds import activation_backward_bound
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision

# The largest |f″| of GELU in any form (0.851, the sigmoid form at 0) and of SiLU (1/2).
_BEND = 0.86
# Of an activation's own error, relative to u: the largest slope where it is not monotone in |z| (30.9, the sigmoid form
# at 0.23).
_STEEPEST_ERROR = 32.0


def activated_back(activation: str, form: str, z: Estimate, gradient: Estimate, precision: Precision) -> Estimate:
    """Return the gradient of z in f(z), where f is an activation function, from that of f(z)."""
    value = reference.activate_backward(activation, z.value, gradient.value, gelu_form=form)  # type: ignore[arg-type]
    above = np.abs(gradient.value) + gradient.error
    if activation == "relu":
        error = np.where(z.value > 0.0, gradient.error, 0.0)
        return Estimate(value, np.where(np.abs(z.value) <= z.error, above, error))
    slope = reference.activate_backward(activation, z.value, np.ones(z.value.shape), gelu_form=form)  # type: ignore[arg-type]
    slope = np.abs(slope)
    largest = (slope + _BEND * z.error) * above
    own = reduce(
        np.maximum,
        (
            activation_backward_bound(activation, form, z.value + sign * z.error, above, largest, precision)
            for sign in (-1.0, 0.0, 1.0)
        ),
    )
    carried = slope * gradient.error + _BEND * z.error * above
    return Estimate(value, carried + own + _STEEPEST_ERROR * precision.stored * z.error * above)
