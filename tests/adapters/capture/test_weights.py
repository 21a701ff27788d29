import ml_dtypes
import numpy as np
import pytest
from veriformer.adapters.capture.numbers import in_double
from veriformer.adapters.capture.weights import deviation, generator_of, is_floating, is_formula, perturbed


def test_a_matrix_is_drawn_anew_with_the_deviation_of_its_two_last_axes():
    matrix = np.full((3, 24, 48), 7.0)
    drawn = perturbed(matrix, generator_of(0, 0))
    assert drawn.shape == matrix.shape
    assert abs(drawn.mean()) < 0.05
    assert drawn.std() == pytest.approx(1.5 / 6, rel=0.05)
    assert (matrix == 7.0).all()


def test_the_deviation_of_a_large_matrix_has_a_floor():
    assert deviation((50257, 768)) == 0.15
    assert deviation((8, 8)) == pytest.approx(1.5 / np.sqrt(8))
    assert deviation((3, 0)) > 0.15


def test_a_vector_stays_near_its_start():
    gain = np.ones(4000)
    drawn = perturbed(gain, generator_of(0, 0))
    assert drawn.mean() == pytest.approx(1, abs=0.03)
    assert drawn.std() == pytest.approx(0.3, rel=0.1)


def test_a_number_is_scaled():
    drawn = [float(perturbed(np.array(2.0), generator_of(0, index))) for index in range(2000)]
    assert np.std(drawn) == pytest.approx(0.2, rel=0.1)
    assert np.all(np.array([perturbed(np.array(0.0), generator_of(0, 1))]) == 0)


def test_what_is_not_floating_stays():
    whole = np.arange(6).reshape(2, 3)
    assert perturbed(whole, generator_of(0, 0)) is whole
    visible = np.array([True, False])
    assert perturbed(visible, generator_of(0, 0)) is visible


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (5,), (5, 3)])
def test_the_dtype_stays(dtype, shape):
    drawn = perturbed(np.ones(shape, dtype), generator_of(1, 2))
    assert isinstance(drawn, np.ndarray)
    assert drawn.dtype == dtype and drawn.shape == shape
    assert not (drawn == np.ones(shape, dtype)).any()


def test_a_draw_depends_on_the_seed_and_the_index_only():
    matrix = np.zeros((4, 6))
    first = perturbed(matrix, generator_of(3, 5))
    assert (first == perturbed(matrix, generator_of(3, 5))).all()
    assert not (first == perturbed(matrix, generator_of(3, 6))).any()
    assert not (first == perturbed(matrix, generator_of(4, 5))).any()


def test_bfloat16_is_floating():
    assert is_floating(np.dtype(ml_dtypes.bfloat16)) and is_floating(np.dtype(np.float32))
    assert not is_floating(np.dtype(np.int64)) and not is_floating(np.dtype(bool))


def rotary(rows, width):
    return np.arange(rows)[:, None] / 10000 ** (np.arange(0, width, 2) / width)


def slopes(heads):
    return 2.0 ** -(8 / heads * np.arange(1, heads + 1))


distances = np.arange(7)[None, :] - np.arange(7)[:, None]

FORMULAS = {
    "positions": np.arange(9),
    "frequencies": 10000 ** -(np.arange(0, 16, 2) / 16),
    "two frequencies": np.array([1.0, 0.01]),
    "slopes": slopes(8),
    "slopes of two heads": slopes(2),
    "slopes of six heads": np.concatenate([slopes(4), slopes(8)[::2][:2]]),
    "slopes of twelve heads": np.concatenate([slopes(8), slopes(16)[::2][:4]]),
    "triangle": np.tril(np.ones((7, 7)))[None, None],
    "additive mask": np.where(distances > 0, -np.inf, 0.0),
    "large negative mask": np.where(distances > 0, -1e9, 0.0),
    "bias by distance": np.stack([slope * distances for slope in slopes(4)]),
    "cosines": np.cos(rotary(50, 8)),
    "sines, batched": np.sin(rotary(50, 8))[None, :, None, :],
    "sinusoids": np.concatenate([np.sin(rotary(50, 8)), np.cos(rotary(50, 8))], axis=-1),
    "sinusoids, interleaved": np.stack([np.sin(rotary(50, 8)), np.cos(rotary(50, 8))], axis=-1).reshape(50, 8),
    "two columns": np.sin(rotary(50, 4)),
}
LEARNED = {
    "gain": np.ones(12),
    "bias": np.zeros(12),
    "biases of heads": np.zeros((4, 6)),
    "gains of layers": np.ones((3, 12)),
    "trained gain": 1 + 0.1 * np.random.default_rng(0).normal(size=64),
    "three numbers": np.array([0.9, 0.7, 0.4]),
    "matrix": np.random.default_rng(1).normal(size=(24, 24)),
    "small matrix": np.random.default_rng(2).uniform(-0.02, 0.02, (5, 2)),
    "table with an empty row": np.concatenate([np.zeros((1, 8)), np.random.default_rng(3).normal(size=(9, 8)) * 0.02]),
    "scale": np.array(0.5),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_what_a_formula_gives_is_seen(name, dtype):
    assert is_formula(FORMULAS[name].astype(dtype))


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_learned_is_not_taken_for_a_formula(name):
    assert not is_formula(LEARNED[name])


def test_random_parameters_are_never_taken_for_a_formula():
    generator = np.random.default_rng(0)
    shapes = [(4,), (5,), (8,), (64,), (4, 2), (8, 8), (3, 16), (5, 3), (2, 4, 4)]
    for _ in range(300):
        for shape in shapes:
            assert not is_formula(generator.uniform(-1, 1, shape).astype(np.float32))
            assert not is_formula(np.abs(generator.normal(size=shape)).astype(np.float32))


@pytest.mark.parametrize(
    "number",
    [1 / np.sqrt(8), np.sqrt(768), 1 / np.sqrt(2), np.sqrt(2 / np.pi), 0.044715, 1.702, 1e-5, 0.1, -3.0, 48**-0.5, 0.7],
)
def test_a_number_written_in_single_precision_is_what_was_meant(number):
    wide, is_exact = in_double(np.array(number, np.float32))
    assert is_exact and wide.dtype == np.float64
    assert float(wide) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize("number", [0.123456789, 2.0794415, 7.3890562])
def test_a_number_of_which_nothing_tells_what_was_meant_stays(number):
    wide, is_exact = in_double(np.array(number, np.float32))
    assert not is_exact
    assert float(wide) == float(np.float32(number))


def test_a_number_of_another_precision_stays():
    half, is_exact = in_double(np.array(0.35355, np.float16))
    assert not is_exact and half == np.float16(0.35355)
    double, _ = in_double(np.array(0.1234567891234))
    assert double == 0.1234567891234


@pytest.mark.parametrize("number", [-np.inf, np.inf, 0.0, -1e9, float(np.finfo(np.float32).min), 0.375, 1024.0])
def test_a_number_that_masks_or_is_short_is_exact(number):
    wide, is_exact = in_double(np.array(number, np.float32))
    assert is_exact and wide == np.float32(number)


def test_a_table_is_exact_where_its_numbers_are_short():
    assert in_double(np.tril(np.ones((30, 30), np.float32)))[1]
    assert not in_double(np.cos(np.arange(300, dtype=np.float32)))[1]
    assert np.isnan(in_double(np.array(np.nan, np.float32))[0])
