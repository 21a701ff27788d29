"""What a change of layout does to arrays of JAX: nothing is compiled for it where nothing is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.matching.namespaces import part_of, reshaped, stacked, transposed

jax = pytest.importorskip("jax")
MOVES: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: transposed(x, (0, 2, 1, 3)),
    "reshaped": lambda x: reshaped(x, (6, 35)),
    "stacked": lambda x: stacked([x, x]),
    "an entry": lambda x: part_of(x, 1),
    "a slice": lambda x: part_of(x, slice(1, 2)),
    "rows": lambda x: part_of(x, (slice(None), slice(None), np.array([4, 0]))),
}


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, 5, 7)).astype(np.float32)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_entries_of_jax_arrays_are_moved_as_numpy_moves_them(
    move: Callable[[Any], Any], dtype: str, values: np.ndarray
) -> None:
    given = jax.numpy.asarray(values).astype(dtype)
    moved = move(given)
    assert isinstance(moved, jax.Array) and moved.dtype == given.dtype
    assert moved.committed == given.committed
    assert np.array_equal(np.asarray(moved), move(np.asarray(given)))


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_nothing_is_compiled_to_move_entries(
    move: Callable[[Any], Any], values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = jax.device_put(values)
    jax.clear_caches()
    monkeypatch.setattr("jax._src.compiler.compile_or_get_cached", _forbidden)
    move(given)


def test_a_move_can_be_differentiated(values: np.ndarray) -> None:
    def weighted(x: Any) -> Any:
        return (transposed(stacked([part_of(x, 0), part_of(x, 1)]), (1, 0, 2, 3)) * 3.0).sum()

    assert np.array_equal(jax.grad(weighted)(jax.device_put(values)), np.full_like(values, 3.0))


def test_the_array_that_was_moved_keeps_its_own_memory(values: np.ndarray) -> None:
    given = jax.device_put(values)
    moved = reshaped(given, (210,))
    assert not np.shares_memory(np.asarray(given), np.asarray(moved))


def _forbidden(*_: Any, **__: Any) -> Any:
    raise AssertionError("a move was compiled")
