"""What a whole process shares: who changes it is named, and it is put back."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.isolation.state import Watch, Watched


def changes(function: Callable[[], object], calls: int = 3) -> list[str]:
    watch = Watch()
    watched = Watched(function, watch)
    for _ in range(calls):
        watched()
    return list(dict.fromkeys(watch.changed))


@pytest.fixture(autouse=True)
def generators_as_before() -> object:
    before, of_numpy = random.getstate(), np.random.get_state()
    yield
    random.setstate(before)
    np.random.set_state(of_numpy)


def test_to_compute_changes_nothing() -> None:
    assert changes(lambda: np.exp(np.eye(3))) == []


def test_to_draw_random_numbers_changes_nothing() -> None:
    assert changes(lambda: (random.random(), np.random.random(3))) == []


def test_a_seed_is_noticed_at_the_second_call() -> None:
    def seeds() -> None:
        random.seed(1)
        random.random()

    assert changes(seeds, calls=1) == []
    assert changes(seeds, calls=2) == ["the random state of random (by seeding it)"]
    assert changes(lambda: np.random.seed(3)) == ["the random state of numpy.random (by seeding it)"]


def test_a_seed_that_is_taken_back_is_none() -> None:
    def borrows() -> None:
        before = random.getstate()
        random.seed(1)
        random.random()
        random.setstate(before)

    assert changes(borrows) == []


def test_the_error_state_is_named_and_put_back() -> None:
    before = np.geterr()
    assert changes(lambda: np.seterr(all="raise")) == ["NumPy's error state"]
    assert np.geterr() == before


def test_the_working_directory_is_named_and_put_back(tmp_path: Path) -> None:
    before = Path.cwd()
    assert changes(lambda: os.chdir(tmp_path)) == ["the working directory"]
    assert Path.cwd() == before


def test_the_environment_is_named_and_put_back() -> None:
    before = dict(os.environ)
    assert changes(lambda: os.environ.update(VERIFORMER_A="1")) == ["the environment (VERIFORMER_A)"]
    assert changes(lambda: os.environ.pop("PATH", None)) == ["the environment (PATH)"]
    assert dict(os.environ) == before


def test_torch_is_watched_where_it_is_imported() -> None:
    torch = pytest.importorskip("torch")
    before, drawn = torch.get_default_dtype(), torch.get_rng_state()
    assert changes(lambda: torch.set_default_dtype(torch.float64)) == ["torch's default dtype"]
    assert changes(lambda: torch.manual_seed(0)) == ["the random state of torch (by seeding it)"]
    assert changes(lambda: torch.nn.Linear(2, 3)) == []
    assert torch.get_default_dtype() == before
    torch.set_rng_state(drawn)


def test_an_operation_that_raises_is_watched_too() -> None:
    watch = Watch()

    def raises() -> None:
        np.seterr(all="ignore")
        raise ValueError

    with pytest.raises(ValueError):
        Watched(raises, watch)()
    assert watch.changed == ["NumPy's error state"]
