from __future__ import annotations

import mpmath
import numpy as np
import pytest
from veriformer.reference import token_embedding

TOKENS = np.array([[3, 0, 3], [1, 1, 2]])
TABLE = np.random.default_rng(0).normal(size=(4, 5))


def test_each_vector_is_its_row_bit_for_bit():
    got = token_embedding(TOKENS, TABLE)
    for place in np.ndindex(TOKENS.shape):
        np.testing.assert_array_equal(got[place], [TABLE[TOKENS[place]][c] for c in range(5)])


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_scaled_by_the_square_root_of_the_width(exact, width):
    table = np.random.default_rng(width).normal(size=(4, width))
    expected = np.array(
        [[[mpmath.sqrt(width) * mpmath.mpf(float(x)) for x in table[t]] for t in row] for row in TOKENS], dtype=object
    )
    got = token_embedding(TOKENS, table, scale_by_sqrt_d_model=True)
    # The root and the product are rounded.
    exact.assert_within(got, expected, 2.01 * 2.0**-53 * np.abs(expected).astype(float), 1e-14)


def test_equals_torch():
    torch = pytest.importorskip("torch")
    output = torch.nn.functional.embedding(torch.tensor(TOKENS), torch.tensor(TABLE))
    np.testing.assert_array_equal(token_embedding(TOKENS, TABLE), output.numpy())


ERRORS = {
    "negative": (lambda: token_embedding(TOKENS - 1, TABLE), "0 to 3", "-1", "every token"),
    "too large": (lambda: token_embedding(TOKENS + 1, TABLE), "0 to 3", "4", "every token"),
    "dtype": (lambda: token_embedding(TOKENS * 1.0, TABLE), "integers", "float64", "numbers of the tokens"),
    "rank": (lambda: token_embedding(TOKENS[0], TABLE), "(B, L)", "(3,)", "numbers of the tokens"),
}


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong_what_was_received_and_what_to_do(name):
    call, *words = ERRORS[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert all(word in str(caught.value) for word in words)
