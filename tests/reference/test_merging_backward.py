"""The gradients of merging against derivatives with 40 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import merge_attention_backward

SHAPES = ((1, 1, 2, 3), (1, 1, 2)) * 3


def drawn(seed, spread=1.0):
    generator = np.random.default_rng(seed)
    arrays = [generator.normal(size=shape) for shape in SHAPES]
    arrays[1], arrays[3] = spread * arrays[1], spread * arrays[3]
    return arrays


def loss(row, output_a, lse_a, output_b, lse_b, grad_output, grad_lse):
    """Return ⟨grad_output, output⟩ + grad_lse · lse of one row, with 40 digits."""
    weight_a, weight_b = mpmath.exp(lse_a), mpmath.exp(lse_b)
    total = weight_a + weight_b
    merged = [(weight_a * one + weight_b * other) / total for one, other in zip(output_a, output_b, strict=True)]
    products = (mpmath.mpf(float(g)) * one for g, one in zip(grad_output[row], merged, strict=True))
    return mpmath.fsum(products) + mpmath.mpf(float(grad_lse[row])) * mpmath.log(total)


@pytest.mark.parametrize("spread", (1.0, 30.0))
def test_every_gradient_is_the_derivative_of_the_merging(spread):
    arrays = drawn(0, spread)
    found = merge_attention_backward(*arrays)
    output_a, lse_a, output_b, lse_b, grad_output, grad_lse = (array[0, 0] for array in arrays)
    with mpmath.workdps(40):
        for row in range(2):
            at = [*output_a[row], lse_a[row], *output_b[row], lse_b[row]]
            point = [mpmath.mpf(float(number)) for number in at]

            def moved(*values, row=row):
                return loss(row, values[:3], values[3], values[4:7], values[7], grad_output, grad_lse)

            right = [mpmath.diff(moved, point, tuple(int(place == other) for other in range(8))) for place in range(8)]
            got = [*found[0][0, 0, row], found[1][0, 0, row], *found[2][0, 0, row], found[3][0, 0, row]]
            np.testing.assert_allclose(np.array(got, float), np.array(right, dtype=float), rtol=1e-12, atol=1e-14)


def test_an_empty_part_gets_nothing_and_the_other_all():
    arrays = drawn(1)
    arrays[0][:], arrays[1][:] = 0.0, -np.inf
    to_output_a, to_lse_a, to_output_b, to_lse_b = merge_attention_backward(*arrays)
    assert not to_output_a.any()
    assert not to_lse_a.any()
    np.testing.assert_array_equal(to_output_b, arrays[4])
    np.testing.assert_array_equal(to_lse_b, arrays[5])


def test_two_empty_parts_get_zeros():
    arrays = drawn(2)
    arrays[1][:] = arrays[3][:] = -np.inf
    assert all(not part.any() for part in merge_attention_backward(*arrays))


@pytest.mark.parametrize("place", (4, 5))
@pytest.mark.usefixtures("shapes_unchecked")
def test_a_gradient_of_another_shape_than_its_result_is_refused(place):
    arrays = drawn(3)
    arrays[place] = arrays[place][..., :1]
    with pytest.raises(ValueError, match="grad_output must have shape" if place == 4 else "grad_lse must have shape"):
        merge_attention_backward(*arrays)
