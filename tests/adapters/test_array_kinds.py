"""Whose arrays a value holds, and which frameworks a program uses."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.array_kinds import framework_of, frameworks_used
from veriformer.adapters.arrays import framework as framework_called

FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow", "mlx", "tinygrad")
NO_ARRAYS = (None, 1, 2.0, "torch", True, [], {}, [1, [np.ones(2)]], object(), np, np.ndarray, len)


def module(text: str) -> ModuleType:
    made = ModuleType("_written_by_a_user")
    exec(text, vars(made))
    return made


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_array_and_what_holds_one(framework):
    array = framework_called(framework).from_numpy(np.ones(2), "float32")
    held = (array, [1, array], (array, array), {"output": array}, SimpleNamespace(loss=array, steps=3))
    assert {framework_of(value) for value in held} == {framework}
    # Beside a number of NumPy's, the other array tells.
    assert framework_of((np.float32(1.0), array)) == framework


@pytest.mark.parametrize("value", NO_ARRAYS)
def test_what_holds_no_array(value):
    assert framework_of(value) is None


def test_subclasses_and_unknown_arrays():
    torch = pytest.importorskip("torch")

    class Own(torch.Tensor):
        pass

    class Unknown:
        def __array__(self) -> np.ndarray:
            return np.ones(2)

    assert framework_of(torch.ones(2).as_subclass(Own)) == "torch"
    assert framework_of(torch.nn.Parameter(torch.ones(2))) == "torch"
    assert framework_of(Unknown()) == "numpy"
    assert framework_of(Unknown) is None


USES = {
    "import numpy as np": ("numpy",),
    "import torch\nimport numpy as np": ("torch", "numpy"),
    "import numpy as np\nfrom torch import nn": ("torch", "numpy"),
    "from torch.nn.functional import softmax": ("torch",),
    "import jax.numpy as jnp": ("jax",),
    "from jax.numpy import exp": ("jax",),
    "from numpy import exp": ("numpy",),
    "import tensorflow as tf": ("tensorflow",),
    "import mlx.core as mx": ("mlx",),
    "from mlx.core import exp": ("mlx",),
    "from tinygrad import Tensor, dtypes": ("tinygrad",),
    "def softmax(x):\n    import torch.nn.functional as F\n    return F.softmax(x, -1)": ("torch",),
    "import math, functools": (),
    "import jax\nimport torch\ndef softmax(x):\n    return torch.softmax(x, -1)": ("torch", "jax"),
    "import torch\nimport jax\nclass Layer:\n    def f(self, x):\n        return jax.nn.softmax(x)": ("jax", "torch"),
}


def required(text: str) -> None:
    for name in ("torch", "jax", "tensorflow", "mlx.core", "tinygrad"):
        if name.partition(".")[0] in text:
            pytest.importorskip(name)


@pytest.mark.parametrize("text", USES)
def test_the_frameworks_of_a_module(text):
    required(text)
    assert frameworks_used(module(text)) == USES[text]


def test_the_frameworks_of_functions_and_what_wraps_them():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    assert (torch, jax) == (import_module("torch"), import_module("jax"))
    written = module(
        "import functools\nimport jax\nimport torch\n"
        "def of_torch(x):\n    return torch.exp(x)\n"
        "@jax.jit\ndef of_jax(x):\n    return jax.numpy.exp(x)\n"
        "class Layer(torch.nn.Module):\n    def forward(self, x):\n        return torch.exp(x)\n"
        "layer = Layer()\n"
    )
    for found in (written.of_torch, partial(written.of_torch, 1), written.layer, written.layer.forward, written.Layer):
        assert frameworks_used(found)[0] == "torch"
    assert frameworks_used(written.of_jax)[0] == "jax"


def test_the_frameworks_of_their_own_functions_and_of_functions_that_are_not_complete():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    assert frameworks_used(torch.softmax)[0] == frameworks_used(torch.nn.functional.softmax)[0] == "torch"
    assert frameworks_used(jax.nn.softmax)[0] == "jax"
    assert frameworks_used(np.exp) == ("numpy",)
    assert frameworks_used(len) == frameworks_used(None) == ()

    def around() -> tuple[str, ...]:
        found = frameworks_used(lambda x: later.exp(x))
        later = torch
        return found if later else ()

    assert "torch" not in around()


def test_keras_has_the_arrays_of_its_backend(monkeypatch):
    keras = ModuleType("keras")
    monkeypatch.setitem(sys.modules, "keras", keras)
    assert frameworks_used(module("import keras")) == ()
    for backend, expected in (("tensorflow", ("tensorflow",)), ("jax", ("jax",)), ("openvino", ())):
        keras.backend = SimpleNamespace(backend=lambda backend=backend: backend)
        assert frameworks_used(module("import keras")) == expected


def test_nothing_is_imported_to_tell():
    program = (
        "import sys\nfrom types import SimpleNamespace\n"
        "from veriformer.adapters.array_kinds import framework_of, frameworks_used\n"
        "framework_of(SimpleNamespace(a=1)), frameworks_used(sys.modules['__main__'])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "jax", "tensorflow", "mlx", "tinygrad", "cupy", "keras"} & set(done.stdout.split())
