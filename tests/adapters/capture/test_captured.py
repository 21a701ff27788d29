"""Models of every framework, and those that cannot be recorded: each a sentence that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.models import Model
from veriformer.adapters.errors import CaptureError

WIDTH = 6


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(17, WIDTH)
        self.head = nn.Linear(WIDTH, 17)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(tokens))


def refusal(model: Any, inputs: Any = None) -> str:
    with pytest.raises(CaptureError) as caught:
        capture_model(model, inputs, seed=1)
    return str(caught.value)


def test_what_the_model_returned_is_what_was_recorded():
    model = Tiny().double()
    tokens = np.arange(8).reshape(2, 4)
    trace = capture_model(model, tokens, seed=None)
    np.testing.assert_array_equal(trace.values[trace.outputs[0]].array, model(torch.from_numpy(tokens)).detach())


def test_guessed_tokens_are_said_and_occur_once_each_if_there_are_enough():
    model = nn.Sequential(nn.Embedding(59, WIDTH), nn.Linear(WIDTH, 59))
    trace = capture_model(model, seed=1)
    (place,) = trace.inputs
    tokens = trace.values[place].array
    assert tokens.shape == (5, 11) and len(np.unique(tokens)) == tokens.size
    assert trace.notes == ("it was run on tokens (5, 11) below 59, since no inputs were handed over",)


@pytest.mark.parametrize(
    "inputs",
    [
        np.arange(4),
        torch.arange(4),
        (np.arange(4),),
        {"tokens": np.arange(4)},
        lambda: np.arange(4),
        lambda: {"tokens": torch.arange(4)},
        ((), {"tokens": np.arange(4)}),
    ],
)
def test_inputs_beside_the_model(inputs):
    trace = capture_model(Model("m", "torch", Tiny(), inputs), seed=1)
    assert trace.values[trace.inputs[0]].array.tolist() == [0, 1, 2, 3] and trace.notes == ()


def test_floating_inputs_have_the_precision_of_the_model():
    class Strict(nn.Linear):
        def forward(self, x):
            assert x.dtype == self.weight.dtype
            return super().forward(x)

    trace = capture_model(Strict(WIDTH, 3), np.ones((2, WIDTH)), seed=1)
    assert trace.outputs


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([1, 2, 3], "inputs() returned a list of numbers"),
        ("text", "inputs() returned a str"),
        ({1: np.arange(3)}, "the key 1"),
        (lambda: None, "inputs() returned a NoneType"),
        (lambda: 1 / 0, "inputs() raised ZeroDivisionError"),
        ((None,), "no array but NoneType"),
    ],
)
def test_inputs_that_are_none(inputs, expected):
    assert expected in refusal(Model("m", "torch", Tiny(), inputs))


def test_a_model_that_raises_on_its_inputs():
    sentence = refusal(Tiny(), np.array([[99]]))
    assert "raised IndexError" in sentence and "(int64 (1, 1))" in sentence and "function `inputs()`" in sentence


def test_a_model_that_raises_on_every_guess():
    class Picky(Tiny):
        def forward(self, tokens):
            raise ValueError(f"not {tuple(tokens.shape)}")

    sentence = refusal(Picky())
    assert "tokens (5, 11) below 17: ValueError: not (5, 11)" in sentence and "`inputs()` in its file" in sentence


def test_a_model_that_raises_the_same_on_every_guess_says_it_once():
    class Broken(Tiny):
        def forward(self, tokens):
            raise ValueError("no such thing")

    sentence = refusal(Broken())
    assert sentence.count("no such thing") == 1 and "line " in sentence and "inputs that were tried" in sentence


def test_half_precision_that_the_cpu_lacks_is_recorded_in_float64():
    class Filled(Tiny):
        def forward(self, tokens):
            # The number is beyond float16.
            return super().forward(tokens).masked_fill(tokens[..., None] < 0, -1e9)

    assert capture_model(Filled().half(), seed=0).dtype == "float64"


def test_a_second_input_of_few_numbers():
    class Styled(Tiny):
        def __init__(self):
            super().__init__()
            self.styles = nn.Embedding(3, WIDTH)

        def forward(self, tokens, style):
            return super().forward(tokens) + self.styles(style).mean()

    trace = capture_model(Styled(), seed=0)
    assert any("zeros of that shape" in note for note in trace.notes)


def test_the_meta_device():
    assert "table.weight, head.weight, head.bias are on the meta device" in refusal(Tiny().to("meta"))


def test_lazy_parameters():
    assert "1.weight, 1.bias are lazy" in refusal(nn.Sequential(nn.Embedding(17, WIDTH), nn.LazyLinear(3)))


@pytest.mark.filterwarnings("ignore")
def test_quantised_weights():
    quantised = torch.ao.quantization.quantize_dynamic(Tiny(), {nn.Linear}, dtype=torch.qint8)
    assert "the weights of head" in refusal(quantised) and "before it is quantised" in refusal(quantised)
    whole = Tiny()
    whole.head.weight = nn.Parameter(torch.ones(17, WIDTH, dtype=torch.int8), requires_grad=False)
    assert "the weights of head.weight are quantised" in refusal(whole)


def test_half_precision_that_the_cpu_cannot_compute():
    class Half(Tiny):
        def forward(self, tokens):
            raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'")

    assert "computes in half precision, which the CPU cannot do" in refusal(Half(), np.arange(4))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_that_the_cpu_can_widen(dtype):
    assert capture_model(Tiny().to(dtype), seed=1).dtype == "float64"


@pytest.mark.parametrize("returned", ["text", None, 1.5])
def test_a_model_without_tensors_in_its_output(returned):
    class Silent(Tiny):
        def forward(self, tokens):
            super().forward(tokens)
            return returned

    assert "returned no array" in refusal(Silent())


@pytest.mark.filterwarnings("ignore")
def test_a_scripted_model_is_opaque():
    for scripted in (torch.jit.script(Tiny()), torch.jit.trace(Tiny(), torch.zeros(2, 3, dtype=torch.int64))):
        scripted.train()
        trace = capture_model(scripted, seed=1)
        assert "" in trace.opaque and any("mm" in step.operation for step in trace.steps)
        assert scripted.training


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_is_recorded_as_it_was_written():
    inner = nn.Sequential(Tiny())
    inner[0] = torch.compile(inner[0])
    in_place = Tiny()
    in_place.compile()
    for model, notes in ((torch.compile(Tiny()), 1), (inner, 0), (in_place, 0)):
        trace = capture_model(model, np.arange(4), seed=1)
        assert len(trace.notes) == notes and [s.operation for s in trace.steps].count("aten.embedding") == 1


def test_a_wrapped_model():
    trace = capture_model(nn.DataParallel(Tiny()), np.arange(4), seed=1)
    assert "wrapped in DataParallel" in trace.notes[0] and trace.modules[""] == "Tiny"


def test_frameworks_of_jax():
    jax = pytest.importorskip("jax")
    nnx, equinox = pytest.importorskip("flax.nnx"), pytest.importorskip("equinox")

    class Calls(nnx.Variable):
        pass

    class Flax(nnx.Module):
        def __init__(self, *, rngs):
            self.table, self.drop = nnx.Embed(19, WIDTH, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
            self.calls = Calls(jax.numpy.zeros(()))

        def __call__(self, tokens):
            self.calls[...] += 1
            return self.drop(self.table(tokens))

    model = Flax(rngs=nnx.Rngs(0))
    before = nnx.to_pure_dict(nnx.state(model, (nnx.Param, Calls)))
    assert capture_model(model, seed=1).framework == "flax"
    jax.tree.map(np.testing.assert_array_equal, before, nnx.to_pure_dict(nnx.state(model, (nnx.Param, Calls))))
    assert not model.drop.deterministic
    linear = equinox.nn.Linear(WIDTH, 3, key=jax.random.PRNGKey(0))
    assert capture_model(linear, np.ones(WIDTH), seed=1).framework == "equinox"
    pair = (lambda parameters, tokens: parameters["table"][tokens], {"table": jax.numpy.ones((19, WIDTH))})
    trace = capture_model(pair, seed=1)
    assert trace.framework == "jax" and trace.notes and len(trace.inputs) == 1
