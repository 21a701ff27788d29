"""equinox.nn.RotaryPositionalEmbedding ignores theta once one of the same size and dtype has been called."""

import equinox
import jax

x = jax.random.normal(jax.random.key(0), (8, 4))
for theta in (10_000.0, 500_000.0):
    rotated = equinox.nn.RotaryPositionalEmbedding(4, theta=theta)(x)
    print("theta", theta, "last position:", rotated[-1])
alone = equinox.nn.RotaryPositionalEmbedding(4, theta=10_000.0)(x)
assert (rotated == alone).all()
