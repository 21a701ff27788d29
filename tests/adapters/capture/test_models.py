"""What is a model, what is an implementation of operations, and how a model is built."""

from __future__ import annotations

import random
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.guessed_sizes import guessed_arguments
from veriformer.adapters.capture.models import find_model, framework_of, load_model
from veriformer.adapters.errors import CaptureError, LoadError, NotAModel

SOURCE = """
import torch
from torch import nn

called = []

class Block(nn.Module):
    def __init__(self, width, heads: int = 2):
        super().__init__()

class Odd(nn.Module):
    def __init__(self, spokes, heads: int = 2):
        super().__init__()

class GPT(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.encoder = nn.Embedding(17, width)
        self.softmax = nn.Softmax(-1)

    def forward(self, tokens):
        return self.softmax(self.encoder(tokens))

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise RuntimeError("no weights here")

def build():
    return GPT(8)

def of_class():
    return GPT

def gelu():
    return GPT(9)

def layer_norm(width=10):
    return GPT(width)

def with_arguments(width, depth):
    return GPT(width)

def softmax(x):
    called.append(1)

renamed = softmax
instance = GPT()
number = 3

def inputs():
    return torch.arange(5)

def wrong():
    return number
"""

WITHOUT_OPERATIONS = SOURCE.replace("def softmax", "def _soft").replace("renamed = softmax", "")

OPERATIONS = """
import torch
from torch import nn

framework = "torch"
called = []

def softmax(x):
    called.append(1)
    return torch.softmax(x, -1)

helper = softmax

class Layer(nn.Module):
    def gelu(self, x):
        return x

def build():
    called.append(1)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(SOURCE)
    return str(tmp_path / "mine.py")


@pytest.fixture
def operations(tmp_path: Path) -> str:
    (tmp_path / "operations.py").write_text(OPERATIONS)
    return str(tmp_path / "operations.py")


_MODELS = [("GPT", 6), ("build", 8), ("of_class", 6), ("instance", 6), ("gelu", 9), ("layer_norm", 10)]


@pytest.mark.parametrize(("name", "width"), _MODELS)
def test_models_in_a_file(file, name, width):
    model = load_model(f"{file}:{name}")
    assert model.framework == "torch" and model.found.encoder.weight.shape == (17, width)
    assert model.inputs().tolist() == [0, 1, 2, 3, 4]


def test_a_file_with_a_function_that_builds(tmp_path):
    (tmp_path / "plain.py").write_text(WITHOUT_OPERATIONS)
    model = load_model(str(tmp_path / "plain.py"))
    assert model.name == f"{tmp_path}/plain.py:build" and model.found.encoder.weight.shape == (17, 8)


def test_a_class_that_needs_arguments(file):
    with pytest.raises(CaptureError) as caught:
        load_model(f"{file}:Odd")
    assert "needs arguments: Odd(spokes, heads: int = 2)" in str(caught.value)
    assert "`def build(): return Odd(...)`" in str(caught.value) and f"{file}:build" in str(caught.value)


def test_a_class_whose_sizes_are_guessed(file):
    model = load_model(f"{file}:Block")
    assert model.notes == (
        "Block was built with width = 24, since no sizes were handed over; a function build() in its file has others",
    )


def test_a_function_that_needs_arguments(file):
    with pytest.raises(NotAModel, match=r"with_arguments\(width, depth\).*return with_arguments, parameters"):
        load_model(f"{file}:with_arguments")


def test_a_class_that_raises(file):
    with pytest.raises(CaptureError, match=r"Broken raised RuntimeError: no weights here \(line 27 of mine.py\)"):
        load_model(f"{file}:Broken")


@pytest.mark.parametrize(("name", "kind"), [("number", "is an int"), ("wrong", "returned an int")])
def test_what_is_no_model(file, name, kind):
    with pytest.raises(NotAModel, match=kind):
        load_model(f"{file}:{name}")


@pytest.mark.parametrize("name", ["softmax", "renamed"])
def test_an_operation_is_not_called(file, name):
    with pytest.raises(NotAModel, match="as an implementation") as caught:
        load_model(f"{file}:{name}")
    assert caught.value.__traceback__ is not None
    module = next(module for module in sys.modules.values() if getattr(module, "__file__", None) == file)
    assert module.called == []


@pytest.mark.parametrize("name", ["", ":softmax", ":helper", ":Layer"])
def test_an_implementation_is_no_model(operations, name):
    with pytest.raises(NotAModel):
        load_model(operations + name)
    module = next(module for module in sys.modules.values() if getattr(module, "__file__", None) == operations)
    assert module.called == []


@pytest.mark.parametrize(
    "found",
    [SimpleNamespace(softmax=np.exp), SimpleNamespace(framework="numpy"), None, 3, "numpy", "torch", {}, (1, 2)],
)
def test_objects_that_are_no_models(found):
    with pytest.raises(NotAModel):
        load_model(found)


def test_a_module_that_declares_its_framework_is_an_implementation():
    class Layers(nn.Module):
        framework = "torch"

        def softmax(self, x):
            return x

    class Pretrained(nn.Module):
        framework = "pt"
        encoder = nn.Identity()

    with pytest.raises(NotAModel):
        load_model(Layers())
    assert load_model(Pretrained()).framework == "torch"


def test_a_file_whose_models_are_not_named(tmp_path):
    (tmp_path / "parts.py").write_text(WITHOUT_OPERATIONS.replace("def build", "def _build"))
    with pytest.raises(CaptureError, match=r"name the model in it: .*parts.py:instance.*parts.py:GPT"):
        load_model(str(tmp_path / "parts.py"))


@pytest.mark.parametrize("place", ["missing.py:GPT", "missing.onnx", "no.such.module:GPT"])
def test_what_cannot_be_loaded(tmp_path, place):
    with pytest.raises(LoadError):
        load_model(place)


def test_a_name_that_is_not_there(file):
    with pytest.raises(LoadError, match="did you mean 'GPT'"):
        load_model(f"{file}:GTP")


def test_building_leaves_the_random_state_and_is_repeatable():
    before = torch.get_rng_state(), random.getstate()
    first, second = (find_model(lambda: nn.Linear(3, 3), "build").found.weight for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before[0], torch.get_rng_state()) and before[1] == random.getstate()


def test_models_of_jax():
    jax = pytest.importorskip("jax")
    nnx, equinox, linen = (pytest.importorskip(name) for name in ("flax.nnx", "equinox", "flax.linen"))

    class Flax(nnx.Module):
        def __init__(self, width=6, *, rngs: nnx.Rngs):
            self.table = nnx.Embed(19, width, rngs=rngs)

    class Equinox(equinox.Module):
        table: equinox.nn.Embedding

        def __init__(self, *, key):
            self.table = equinox.nn.Embedding(19, 6, key=key)

    class Linen(linen.Module):
        width: int = 6

        def __call__(self, graph):
            return graph.nodes

    class Initialised(linen.Module):
        @linen.compact
        def __call__(self, x, deterministic=True):
            return linen.Dense(6)(linen.LayerNorm()(x))

    assert load_model(Flax).framework == "flax" and load_model(Equinox).framework == "equinox"
    for one in (Linen, Linen(), lambda: Linen(), lambda: Linen):
        with pytest.raises(CaptureError, match=r"Flax Linen module, .*model = Linen\(\); return model, model.init\("):
            load_model(one)
    for one in (Initialised, Initialised(), lambda: Initialised()):
        made = load_model(one)
        assert made.framework == "jax"
        assert any("initialised with jax.random.key(0)" in note for note in made.notes)
    pair = (lambda parameters, x: x, {"w": jax.numpy.ones(3)})
    assert framework_of(pair) == "jax" and load_model(lambda: pair).framework == "jax"
    assert framework_of((Linen(), {"params": {"w": np.ones(3)}})) == "jax"
    assert framework_of((lambda model, x: x, Flax(rngs=nnx.Rngs(0)))) == "jax"
    assert framework_of((jax.jit(pair[0]), 3)) is None


def test_no_framework_is_imported():
    code = (
        "import sys; from veriformer.adapters.capture.models import load_model\n"
        "try: load_model((print, {'a': 1}))\n"
        "except Exception as error: print(type(error).__name__)\n"
        "print([name for name in ('torch', 'jax', 'flax', 'equinox', 'keras', 'onnx') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["NotAModel", "[]"]


def test_a_module_without_a_forward_method(file):
    class NoForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)

    with pytest.raises(CaptureError, match=r"^NoForward has no forward method; write it"):
        capture_model(NoForward, seed=0)
    module = NoForward()
    module.forward = module.inner.forward
    assert capture_model(module, seed=0).outputs


def test_hidden_is_the_width_of_vectors_beside_an_inner_one():
    def experts(hidden, inter, num_experts, top_k): ...

    def network(dim, hidden): ...

    def guessed(build):
        parameters = signature(build)
        return guessed_arguments(build, parameters, list(parameters.parameters))

    assert guessed(experts) == {"hidden": 24, "inter": 40, "num_experts": 4, "top_k": 2}
    assert guessed(network) == {"dim": 24, "hidden": 40}


@pytest.mark.parametrize(
    ("heads", "key_heads", "made"),
    ((8, None, 4), (2, None, None), (6, 3, 3), (5, None, None)),
)
def test_a_configuration_with_as_many_key_heads_by_default_gets_fewer(tmp_path, heads, key_heads, made):
    (tmp_path / "mine.py").write_text(
        f"""
from dataclasses import dataclass
from typing import Optional
from torch import nn

@dataclass
class Settings:
    dim: int = 48
    n_heads: int = {heads}
    n_kv_heads: Optional[int] = {key_heads}

class Attention(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        self.made = settings.n_kv_heads

    def forward(self, x): ...
"""
    )
    model = load_model(f"{tmp_path}/mine.py:Attention")
    assert model.found.made == made
    said = f"settings = Settings({f'n_kv_heads={made}' if key_heads != made else ''})"
    assert model.notes == (
        f"Attention was built with {said}, since no sizes were handed over; a function build() in its file has others",
    )
