"""A script that differentiates has a gradient for each argument, though two of them may be one array."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.arrays import FRAMEWORKS
from veriformer.adapters.arrays import framework as framework_called
from veriformer.conformance_tests.reports.differentiation import derived_call
from veriformer.conformance_tests.reports.literals import NOTATIONS
from veriformer.spec.operations import OPERATIONS


def test_every_framework_has_a_notation():
    assert set(NOTATIONS) == set(FRAMEWORKS)


@pytest.mark.parametrize("framework", ["torch", "jax", "tensorflow", "mlx"])
def test_one_array_for_gain_and_shift(framework):
    pytest.importorskip("mlx.core" if framework == "mlx" else framework)
    arrays = framework_called(framework)
    x, gain, upstream = np.array([[1.0, 2.0]]), np.array([3.0, 5.0]), np.array([[7.0, 11.0]])
    made = {"x": x, "gamma": gain, "grad_output": upstream}
    given = {name: arrays.from_numpy(value, "float32") for name, value in made.items()}
    # No norm, but as differentiable: x γ² + β.
    given["implementation"] = SimpleNamespace(layer_norm=lambda x, gamma, beta, eps: x * gamma * gamma + beta)
    handed = {"x": "x", "gamma": "gamma", "beta": "gamma", "eps": "0.1", "grad_output": "grad_output"}
    lines = derived_call(framework, OPERATIONS["layer_norm_backward"], handed, [], "result", {})
    imports = ["import jax"] if framework == "jax" else NOTATIONS[framework].imports
    exec("\n".join([*imports, *lines]), given)
    found = [arrays.to_numpy(gradient).tolist() for gradient in given["result"]]
    assert found == [[[63.0, 275.0]], [42.0, 220.0], [7.0, 11.0]]
