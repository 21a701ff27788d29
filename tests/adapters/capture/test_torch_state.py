"""A recorded model of torch is left exactly as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from veriformer.adapters.capture import torch as torch_capture
from veriformer.adapters.capture.captured import capture_model

TOKENS = np.arange(15).reshape(3, 5)


class Model(nn.Module):
    """Has what a pass may change: modes, counters, a cache, a buffer that is replaced, shared and frozen weights."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(17, 6)
        self.hidden = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 17, bias=False)
        self.head.weight = self.table.weight
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("sums", torch.zeros(6))
        self.plain = torch.zeros(6)
        self.count = 0
        self.cache: list[torch.Tensor] = []
        self.hidden.weight.requires_grad_(False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits, and change everything that a forward pass can."""
        x = self.dropout(self.hidden(self.norm(self.table(tokens).mT).mT))
        self.calls += 1
        self.sums = self.sums + x.sum((0, 1))
        self.plain.add_(1)
        self.count += 1
        self.late = x
        self.cache.append(x)
        torch.rand(3)
        np.random.rand(3)
        random.random()
        return self.head(x)


def state_of(model: nn.Module) -> dict[str, Any]:
    """Return everything about a model that can be compared."""
    tensors = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers())}
    plain = {
        f"{path}.{name}": value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, bool | int | float | list | torch.Tensor)
    }
    return {
        "values": {name: tensor.detach().clone() for name, tensor in tensors.items()},
        "objects": {name: id(tensor) for name, tensor in {**tensors, **plain}.items() if torch.is_tensor(tensor)},
        "memory": {name: (tensor.data_ptr(), tensor.dtype, tensor.stride()) for name, tensor in tensors.items()},
        "versions": {name: tensor._version for name, tensor in tensors.items()},
        "grad": {name: (tensor.requires_grad, tensor.grad) for name, tensor in tensors.items()},
        "modes": {name: module.training for name, module in model.named_modules()},
        "plain": {name: value.clone() if torch.is_tensor(value) else repr(value) for name, value in plain.items()},
        "attributes": {name: list(vars(module)) for name, module in model.named_modules()},
        "hooks": {
            name: [
                (kind, list(value))
                for kind, value in vars(module).items()
                if "hooks" in kind and hasattr(value, "keys")
            ]
            for name, module in model.named_modules()
        },
        "random": (torch.get_rng_state(), repr(np.random.get_state()), random.getstate()),
        "default": torch.get_default_dtype(),
        "fast path": torch.backends.mha.get_fastpath_enabled(),
    }


def same(one: Any, other: Any) -> bool:
    """Return whether two states are equal, tensors by their elements."""
    if torch.is_tensor(one):
        return bool(one.dtype == other.dtype and torch.equal(one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def assert_unchanged(model: nn.Module, before: dict[str, Any]) -> None:
    after = state_of(model)
    assert [key for key in before if not same(before[key], after[key])] == []


def trained() -> Model:
    model = Model().train()
    model(torch.from_numpy(TOKENS)).sum().backward()
    return model


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("inputs", [TOKENS, None])
def test_everything_is_as_before(seed, inputs):
    model = Model().train()
    model.dropout.eval()
    before = state_of(model)
    trace = capture_model(model, inputs, seed=seed)
    assert trace.dtype == "float64" and trace.outputs
    assert_unchanged(model, before)


def test_gradients_stay():
    model = trained()
    before = state_of(model)
    assert before["grad"]["table.weight"][1] is not None and not before["grad"]["hidden.weight"][0]
    capture_model(model, TOKENS, seed=1)
    assert_unchanged(model, before)
    assert model.table.weight.grad is before["grad"]["table.weight"][1]


def test_a_graph_that_was_recorded_before_can_still_be_differentiated():
    model = Model()
    loss = model(torch.from_numpy(TOKENS)).sum()
    capture_model(model, TOKENS, seed=1)
    loss.backward()
    assert model.table.weight.grad is not None


def test_everything_is_as_before_when_the_model_raises():
    class Failing(Model):
        def forward(self, tokens):
            super().forward(tokens)
            raise ValueError("too late")

    model = Failing()
    before = state_of(model)
    with pytest.raises(Exception, match="too late"):
        capture_model(model, TOKENS, seed=1)
    assert_unchanged(model, before)


def test_a_model_that_insists_on_single_precision():
    class Strict(Model):
        def forward(self, tokens):
            x = super().forward(tokens)
            assert x.dtype == torch.float32
            return x

    model = Strict()
    before = state_of(model)
    assert capture_model(model, TOKENS, seed=1).dtype == "float32"
    assert_unchanged(model, before)


def test_evaluation_without_dropout():
    model = Model().train()
    first, second = (capture_model(model, TOKENS, seed=1) for _ in range(2))
    assert not any("dropout" in step.operation or "bernoulli" in step.operation for step in first.steps)
    np.testing.assert_array_equal(first.values[first.outputs[0]].array, second.values[second.outputs[0]].array)


@pytest.mark.parametrize("kind", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_of_the_user_run_and_stay(kind: str):
    model, called = Model(), []

    def hook(*_: Any) -> None:
        called.append(1)

    getattr(model.hidden, kind)(hook)
    before = state_of(model)
    capture_model(model, TOKENS, seed=1)
    assert called
    assert_unchanged(model, before)


def test_a_shared_weight_is_drawn_once():
    trace = capture_model(Model(), TOKENS, seed=1)
    table = trace.values[trace.parameters["table.weight"]]
    assert table.aliases == ("head.weight",) and "head.weight" not in trace.parameters


def test_parameters_that_share_memory_share_it_in_the_pass():
    class Views(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            whole = torch.randn(4, 6)
            self.first, self.second = nn.Parameter(whole), nn.Parameter(whole[1:3])

        def forward(self, x):
            return x @ self.first.T, x @ self.second.T

    model = Views()
    trace = capture_model(model, np.ones((2, 6)), seed=5)
    first, second = (trace.values[trace.parameters[name]].array for name in ("first", "second"))
    np.testing.assert_array_equal(first[1:3], second)
    assert model.second.data_ptr() == model.first[1].data_ptr()


def test_what_is_drawn_is_representable_in_the_precision_of_the_model():
    trace = capture_model(Model().half(), TOKENS, seed=1)
    array = trace.values[trace.parameters["table.weight"]].array
    assert array.dtype == np.float64 and (array == array.astype(np.float16)).all() and array.std() > 0.1


@pytest.mark.parametrize("build", [Model, lambda: nn.utils.weight_norm(nn.Linear(6, 6)), lambda: nn.GRU(6, 6)])
def test_models_of_several_kinds(build: Callable[[], nn.Module]):
    model = build()
    before = state_of(model)
    capture_model(model, TOKENS if isinstance(model, Model) else np.ones((3, 5, 6)), seed=2)
    assert_unchanged(model, before)


def test_a_state_that_was_written_into_is_a_value_of_the_record():
    class Recurrent(nn.Module):
        """Writes what it remembers into a table that no operation reads again, and returns it."""

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            state = torch.zeros(x.shape[0], 3, dtype=x.dtype)
            state[:, 1] = x.sum(-1)
            return x.exp(), state

    trace = capture_model(Recurrent(), torch.randn(2, 5), seed=1)
    assert [trace.values[one].array.shape for one in trace.outputs] == [(2, 5), (2, 3)]
    assert trace.values[trace.outputs[1]].array[:, 1].any()


def test_the_row_of_padding_of_a_table_is_recorded():
    rows = torch.tensor([[1, 2]])
    tables = nn.Embedding(4, 3, padding_idx=0), nn.Embedding(4, 3)
    found = [capture_model(table, rows, seed=1).steps[0].attributes.get("padding_row") for table in tables]
    assert found == [0, None]


def test_memory_that_an_earlier_pass_has_left_changes_no_record():
    # An allocator gives the same memory out again, with what an earlier pass has written into it.
    left = torch.full((2, 4), 7.0)

    class Joined(nn.Module):
        """Writes both halves into memory that holds their very numbers already."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            whole = torch.empty_like(x)
            whole[:, :2] = x[:, :2]
            whole[:, 2:] = x[:, 2:]
            return whole * 2

    recorded = [capture_model(Joined(), left, seed=1).steps]
    memory = torch.empty_like
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch, "empty_like", lambda x: memory(x).copy_(x))
        patched.setattr(torch_capture, "_MEMORY_ONLY", frozenset())
        recorded.append(capture_model(Joined(), left, seed=1).steps)
    for steps in recorded:
        (last,) = (step for step in steps if step.operation == "aten.mul")
        made = {result: step for step in steps for result in step.results}
        assert made[last.operands[0]].operation == "written through a view"


def test_memory_that_is_not_written_is_the_same_in_every_pass():
    class Unwritten(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.empty(x.shape)

    held = [torch.full((31, 5), torch.nan) for _ in range(8)]
    held.clear()
    trace = capture_model(Unwritten(), torch.ones(31, 5), seed=1)
    assert not trace.values[trace.steps[-1].operands[1]].array.any()
