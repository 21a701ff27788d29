"""Properties of every backward pass."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

JACOBIAN = "a backward pass is a product with a transposed Jacobian"
LINEAR = Property(
    key="grad_output.linear",
    statement="The gradients are linear in the output's gradient.",
    formula="g(a dO + b dO′) = a g(dO) + b g(dO′), g the gradients",
    source=JACOBIAN,
    derivation="backward",
    steps=("The gradient is linear in G",),
)
NOTHING = Property(
    key="grad_output.zero",
    statement="Where the output has no influence on the loss, nothing has a gradient.",
    formula="dO = 0: g(dO) = 0",
    source=JACOBIAN,
    derivation="backward",
    steps=("The gradient is linear in G",),
)
EVERY_BACKWARD_PASS = (LINEAR, NOTHING)
