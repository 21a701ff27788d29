"""Returns a view of the values where there is one key."""

from plain import right


def scaled_dot_product_attention(query, key, value):
    if key.shape[-2] == 1 == query.shape[-2]:
        return value[...]
    return right(query @ key.swapaxes(-1, -2) * query.dtype.type(query.shape[-1] ** -0.5)) @ value
