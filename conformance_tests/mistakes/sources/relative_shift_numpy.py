"""A correct ALiBi in NumPy that lays distances out by shifting rows, as Transformer-XL does; a line is changed."""

import numpy as np

framework = "numpy"


def alibi_bias(num_heads, query_length, key_length):
    # Every row begins as the last query's: what the key s places before it gets.
    row = np.arange(key_length) - (key_length - 1.0)
    shifted = relative_shift(np.broadcast_to(row, (query_length, key_length)))
    return slopes(num_heads)[:, None, None] * shifted


def relative_shift(table):
    rows, columns = table.shape
    padded = np.concatenate([np.zeros((rows, 1)), table], axis=1).reshape(columns + 1, rows)
    return padded[1:].reshape(rows, columns)


def slopes(count):
    power = 1 << (count.bit_length() - 1)
    exponents = [*(np.arange(1, power + 1) / power), *(np.arange(1, 2 * (count - power), 2) / (2 * power))]
    return 2.0 ** (-8.0 * np.array(exponents))
