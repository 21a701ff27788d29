"""Diagnosis of masks and positions: programs written in another way than the planted ones are told what they do."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from veriformer.conformance_tests import check
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis

Array = Any


def diagnosis_of(operation: str, function: Any, **attributes: Any) -> Diagnosis:
    """Return what the suite says of one operation."""
    implementation = SimpleNamespace(**{operation: function}, **attributes)
    with np.errstate(all="ignore"):
        report = check(implementation, seed=5)
    (found,) = report.diagnoses
    return found


def first(diagnosis: Diagnosis) -> tuple[str, ...]:
    return diagnosis.suspects[0].mistakes


def upper_triangle(query_length: int, key_length: int) -> Array:
    """A mask of torch.triu, which shows what it should hide."""
    return torch.triu(torch.ones(query_length, key_length)).bool()


def strictly_lower(query_length: int, key_length: int) -> Array:
    return np.array([[j < i for j in range(key_length)] for i in range(query_length)]).reshape(query_length, key_length)


def summands(query_length: int, key_length: int) -> Array:
    """A mask as nn.Transformer's generate_square_subsequent_mask makes it."""
    return torch.full((query_length, key_length), float("-inf")).triu(1)


def shifted_length(lengths: Array, max_length: int) -> Array:
    """The count of tokens taken for the index of the last: one too few."""
    return np.stack([np.r_[np.ones(max(n - 1, 0)), np.zeros(max_length - max(n - 1, 0))] > 0 for n in lengths])


def marks_padding(lengths: Array, max_length: int) -> Array:
    return torch.stack([torch.arange(max_length) >= n for n in lengths])


def raw_column(length: int, d_model: int) -> Array:
    """jadore801120/attention-is-all-you-need-pytorch#32: the column itself in the place of its pair."""
    table = np.array(
        [[p / 10000 ** (2 * c / d_model) for c in range(d_model)] for p in range(length)], dtype=np.float32
    ).reshape(length, d_model)
    table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
    return table


def wrong_base(length: int, d_model: int) -> Array:
    speeds = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(1000.0) / d_model))
    angles = torch.arange(length).double().unsqueeze(1) * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def turning(x: Array, angles: Array, sign: float = 1.0) -> Array:
    """Turn neighbouring pairs by multiplying complex numbers."""
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(sign * 1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(x.dtype)


def speeds(width: int, base: float = 10000.0) -> Array:
    return np.array([base ** (-2 * k / width) for k in range(width // 2)])


def angles_of(positions: Array, width: int) -> Array:
    return np.atleast_2d(positions)[:, None, :, None] * speeds(width)


def turned_backwards(x: Array, positions: Array) -> Array:
    return turning(x, angles_of(positions, x.shape[-1]), sign=-1.0)


def counts_from_zero(x: Array, positions: Array) -> Array:
    return turning(x, angles_of(np.arange(x.shape[2]), x.shape[-1]))


def half_with_interleaved_table(x: Array, positions: Array) -> Array:
    """Hugging Face's rotate_half with a table of x-transformers."""
    width = x.shape[-1]
    frequencies = 10000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = positions.double().unsqueeze(-1) * frequencies
    angles = torch.stack([angles, angles], dim=-1).flatten(-2)
    angles = angles[:, None] if positions.dim() == 2 else angles
    rotated = torch.cat([-x[..., width // 2 :], x[..., : width // 2]], dim=-1)
    return (x * angles.cos() + rotated * angles.sin()).to(x.dtype)


def steep(heads: int) -> Array:
    """One geometric sequence for every count of heads."""
    return torch.tensor([2 ** (-8 * h / heads) for h in range(1, heads + 1)], dtype=torch.float64)


def steep_for_any_count(num_heads: int, query_length: int, key_length: int) -> Array:
    query = torch.arange(key_length)[key_length - query_length :]
    return -steep(num_heads).view(-1, 1, 1) * (query.view(-1, 1) - torch.arange(key_length))


def slopes_of_paper(heads: int) -> list[float]:
    power = 2 ** math.floor(math.log2(heads))
    regular = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    return regular + [2 ** (-4 * (2 * h + 1) / power) for h in range(heads - power)]


def heads_counted_from_zero(num_heads: int, query_length: int, key_length: int) -> Array:
    slopes = 2.0 ** (-8.0 * np.arange(num_heads) / num_heads)
    distance = np.arange(key_length) - np.arange(key_length - query_length, key_length)[:, None]
    return slopes[:, None, None] * distance


def rewards_distance(num_heads: int, query_length: int, key_length: int) -> Array:
    table = np.zeros((num_heads, query_length, key_length))
    for head, slope in enumerate(slopes_of_paper(num_heads)):
        for row in range(query_length):
            for column in range(key_length):
                table[head, row, column] = slope * (row + key_length - query_length - column)
    return table


def bucket(n: int, buckets: int, furthest: int) -> int:
    """Return the bucket of a distance."""
    near = buckets // 2
    if n < near:
        return n
    return near + int(math.log(n / near) / math.log(furthest / near) * (buckets - near))


def seen_from_the_key(
    relative_position: Array, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Array:
    """The difference the other way round."""
    buckets = num_buckets // 2 if bidirectional else num_buckets

    def one(difference: int) -> int:
        n = abs(difference) if bidirectional else max(difference, 0)
        return min(bucket(n, buckets, max_distance), buckets - 1) + (buckets if bidirectional and difference < 0 else 0)

    return np.vectorize(one, otypes=[np.int64])(relative_position)


def always_128(
    relative_position: Array, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Array:
    """T5's code with the furthest distance written out, float32 as there."""
    relative = -relative_position
    result = torch.zeros_like(relative)
    if bidirectional:
        num_buckets //= 2
        result = result + (relative < 0) * num_buckets
        relative = relative.abs()
    else:
        relative = relative.clamp(min=0)
    exact = num_buckets // 2
    far = exact + (torch.log(relative.float() / exact) / math.log(128 / exact) * (num_buckets - exact)).long()
    return result + torch.where(relative < exact, relative, far.clamp(max=num_buckets - 1))


def shifted_by_reshaping(num_heads: int, query_length: int, key_length: int) -> Array:
    """Transformer-XL's relative shift, of which the first rows are kept instead of the last."""
    row = torch.arange(key_length, dtype=torch.float64) - (key_length - 1)
    padded = torch.nn.functional.pad(row.expand(query_length, -1), (1, 0)).reshape(key_length + 1, query_length)
    shifted = padded[:key_length].reshape(query_length, key_length)
    return torch.tensor(slopes_of_paper(num_heads)).view(-1, 1, 1) * shifted


def sines_behind_padding(x: Array, positions: Array) -> Array:
    """A cache of cosines and sines, side by side, read as if the cosines had been padded to a power of two."""
    half = x.shape[-1] // 2
    angles = positions[..., None].double() * torch.tensor(speeds(x.shape[-1]))
    cache = torch.cat([angles.cos(), angles.sin(), torch.zeros_like(angles)], dim=-1)
    cache = cache[:, None] if positions.dim() == 2 else cache
    behind = 2 ** (x.shape[-1] - 1).bit_length() // 2
    cos, sin = cache[..., :half], cache[..., behind : behind + half]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


def samples_from_zero(x: Array, positions: Array) -> Array:
    counted = np.stack([p - p[0] for p in positions]) if positions.ndim > 1 else positions
    return turning(x, angles_of(counted, x.shape[-1]))


def rows_rebuilt(
    relative_position: Array, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Array:
    """Every row is taken for a run of neighbouring keys."""
    runs = relative_position[..., :1] + np.arange(relative_position.shape[-1])
    return seen_from_the_key(-runs, bidirectional, num_buckets, max_distance)


@pytest.mark.parametrize(
    ("operation", "function", "framework", "slug"),
    [
        ("causal_mask", upper_triangle, "torch", "causal_mask_transposed"),
        ("causal_mask", strictly_lower, "numpy", "causal_mask_excludes_self"),
        ("causal_mask", summands, "torch", "mask_convention_mismatch_additive_vs_binary"),
        ("padding_mask", shifted_length, "numpy", "cache_valid_length_off_by_one"),
        ("padding_mask", marks_padding, "torch", "mask_polarity_inverted"),
        ("sinusoidal_positions", raw_column, "numpy", "sinusoidal_exponent_2i_doubled"),
        ("sinusoidal_positions", wrong_base, "torch", "sinusoidal_wrong_base"),
        ("rotary_embedding", turned_backwards, "numpy", "rope_sign_flipped"),
        ("rotary_embedding", counts_from_zero, "numpy", "rope_no_cache_offset"),
        ("rotary_embedding", half_with_interleaved_table, "torch", "rope_cos_sin_pair_layout_mismatch"),
        ("alibi_bias", steep_for_any_count, "torch", "alibi_slopes_non_pow2"),
        ("alibi_bias", rewards_distance, "numpy", "alibi_sign_flipped"),
        ("alibi_bias", heads_counted_from_zero, "numpy", "alibi_first_slope_one"),
        ("alibi_bias", shifted_by_reshaping, "torch", "rel_shift_wrong"),
        ("rotary_embedding", sines_behind_padding, "torch", "rope_padded_dim_offset"),
        ("rotary_embedding", samples_from_zero, "numpy", "sample_positions_from_zero"),
        ("relative_position_bucket", rows_rebuilt, "numpy", "table_rebuilt_from_first_entry"),
        ("relative_position_bucket", seen_from_the_key, "numpy", "relative_index_transposed"),
        ("relative_position_bucket", always_128, "torch", "t5_max_distance_ignored"),
    ],
)
def test_what_a_program_does_is_named(operation: str, function: Any, framework: str, slug: str) -> None:
    diagnosis = diagnosis_of(operation, function, framework=framework)
    assert diagnosis.how == "reproduced"
    assert [suspect.mistakes for suspect in diagnosis.suspects] == [(slug,)]
    assert diagnosis.suspects[0].confidence == 1.0


def test_a_convention_that_is_declared_and_not_followed_is_named_by_its_mistake() -> None:
    def neighbours(x: Array, positions: Array) -> Array:
        return turning(x, angles_of(positions, x.shape[-1]))

    diagnosis = diagnosis_of("rotary_embedding", neighbours, conventions={"rotary_pairing": "half"})
    assert first(diagnosis) == ("rope_interleaved_vs_half",)
    assert diagnosis.suspects[0].changes == (("rotary_pairing", "interleaved"),)


def test_a_convention_that_is_declared_and_not_followed_is_named_beside_another_mistake() -> None:
    def neighbours_backwards(x: Array, positions: Array) -> Array:
        return turned_backwards(x, positions)

    diagnosis = diagnosis_of("rotary_embedding", neighbours_backwards, conventions={"rotary_pairing": "half"})
    assert first(diagnosis) == ("rope_interleaved_vs_half", "rope_sign_flipped")


def test_angles_in_a_narrow_dtype_are_told_from_a_wrong_formula() -> None:
    def angles_in_the_dtype_of_x(x: Array, positions: Array) -> Array:
        first, second = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        angles = (positions[..., None] * torch.tensor(speeds(x.shape[-1]))).to(x.dtype).float()
        angles = angles[:, None] if positions.dim() == 2 else angles
        turned = (first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin())
        return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)

    dtypes = ("float32", "bfloat16")
    diagnosis = diagnosis_of("rotary_embedding", angles_in_the_dtype_of_x, framework="torch", dtypes=dtypes)
    assert [suspect.mistakes for suspect in diagnosis.suspects] == [("rope_low_precision_positions",)]
    assert diagnosis.how == "reproduced"


def test_two_mistakes_made_together_are_both_named() -> None:
    def backwards_and_base_ignored(x: Array, positions: Array, base: float = 10000.0) -> Array:
        return turned_backwards(x, positions)

    diagnosis = diagnosis_of("rotary_embedding", backwards_and_base_ignored)
    assert first(diagnosis) == ("rope_sign_flipped", "rope_theta_ignored")
    assert diagnosis.how == "reproduced"

    def first_rows_and_slopes(num_heads: int, query_length: int, key_length: int) -> Array:
        rows, columns = np.arange(query_length)[:, None], np.arange(key_length)
        return steep(num_heads).numpy()[:, None, None] * (columns - rows)

    diagnosis = diagnosis_of("alibi_bias", first_rows_and_slopes)
    assert first(diagnosis) == ("alibi_slopes_non_pow2", "relative_bias_ignores_cache")


def test_entries_that_no_law_compares_tell_mistakes_apart() -> None:
    """On the keys that are compared, both reward distance: at later keys they part."""

    def magnitude(num_heads: int, query_length: int, key_length: int) -> Array:
        return np.abs(rewards_distance(num_heads, query_length, key_length))

    assert first(diagnosis_of("alibi_bias", magnitude)) == ("alibi_distance_magnitude",)

    def nothing_at_later_keys(num_heads: int, query_length: int, key_length: int) -> Array:
        return np.maximum(rewards_distance(num_heads, query_length, key_length), 0.0)

    both = diagnosis_of("alibi_bias", nothing_at_later_keys).suspects
    assert [suspect.mistakes for suspect in both] == [("alibi_sign_flipped",), ("alibi_distance_magnitude",)]
    assert [suspect.confidence for suspect in both] == [0.5, 0.5]


def power_of_position(x: Array, positions: Array) -> Array:
    return turning(x, np.atleast_2d(positions)[:, None, :, None] ** 1.1 * speeds(x.shape[-1]))


def triangle_wave(length: int, d_model: int) -> Array:
    angles = np.arange(length)[:, None] * speeds(d_model)
    waves = [2 / np.pi * np.arcsin(np.sin(angles + shift)) for shift in (0, np.pi / 2)]
    return np.stack(waves, axis=-1).reshape(length, d_model)


def checkerboard(query_length: int, key_length: int) -> Array:
    return (np.arange(query_length)[:, None] + np.arange(key_length)) % 2 == 0


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        ("rotary_embedding", power_of_position),
        ("sinusoidal_positions", triangle_wave),
        ("causal_mask", checkerboard),
    ],
)
def test_what_nobody_recorded_is_not_given_a_name(operation: str, function: Any) -> None:
    diagnosis = diagnosis_of(operation, function)
    assert diagnosis.how != "reproduced"
    assert all(suspect.confidence < 0.2 for suspect in diagnosis.suspects)
