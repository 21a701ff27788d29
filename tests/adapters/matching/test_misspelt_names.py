"""A misspelt name of an operation is asked about, in a mapping of functions as in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load

Loaded = Callable[..., Implementation]
Array = Any


def root_mean_square(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def right_softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def wrong_softmax(x: Array) -> Array:
    return 2 * right_softmax(x)


TEXT = """
import numpy as np


def {name}(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight
"""


def test_what_is_judged_as_another_operation_than_its_name_is_near_to_is_said(loaded: Loaded) -> None:
    sentence = "layer_nrm is judged as rms_norm; did you mean layer_norm?"
    assert sentence in load({"layer_nrm": root_mean_square}).notices
    assert sentence in loaded(TEXT.format(name="layer_nrm")).notices


@pytest.mark.parametrize("name", ("rms_nrm", "rms_norm", "my_norm"))
def test_nothing_is_asked_where_the_name_says_what_it_is(loaded: Loaded, name: str) -> None:
    found = load({name: root_mean_square}), loaded(TEXT.format(name=name))
    assert not any("did you mean" in notice for one in found for notice in one.notices)


def test_a_right_function_of_a_misspelt_name_is_said_to_be_judged() -> None:
    assert load({"sofmax": right_softmax}).notices == ("sofmax is judged as softmax: (…, E)",)


def test_a_wrong_function_of_a_misspelt_name_is_asked_about() -> None:
    with pytest.raises(LoadError, match=r"sofmax: did you mean softmax\?"):
        load({"sofmax": wrong_softmax})
    beside = load({"sofmax": wrong_softmax, "rms_norm": root_mean_square})
    assert "sofmax is not an operation; did you mean softmax?" in beside.notices
    assert set(beside.not_judged) == {"sofmax"}
