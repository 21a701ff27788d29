"""A trace in a file, and back; a file that is damaged, or made to do harm."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from torch import nn
from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.storage import DamagedTrace, read_trace, write_trace
from veriformer.adapters.capture.trace import Kind, Step, Trace, Value


def trace_of(*arrays: np.ndarray, attributes: Any = None) -> Trace:
    values = [Value(array, "parameter", f"p{place}", ("other",)) for place, array in enumerate(arrays)]
    made = Value(np.array([1.5, np.nan, np.inf, -0.0, 0.1]), "step")
    step = Step("op", Kind.CONTRACTION, (0,), (len(values),), "a.b", "/x/y.py", 7, MappingProxyType(attributes or {}))
    return Trace(
        *("torch", "float32", (*values, made), (step,), (0,), (len(values),)),
        *(MappingProxyType({"": "Model"}), MappingProxyType({"a": "it is scripted"}), ("a note",)),
    )


def assert_same(one: Trace, other: Trace) -> None:
    for field in dataclasses.fields(Trace):
        if field.name != "values":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    for first, second in zip(one.values, other.values, strict=True):
        assert (first.origin, first.name, first.aliases) == (second.origin, second.name, second.aliases)
        assert first.array.dtype == second.array.dtype and first.array.shape == second.array.shape
        assert np.array_equal(first.array, second.array, equal_nan=first.array.dtype.kind == "f")
        if first.array.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(first.array), np.signbit(second.array))


def stored_and_read(trace: Trace, path: Path) -> Trace:
    write_trace(trace, path)
    read = read_trace(path)
    assert_same(trace, read)
    return read


@pytest.mark.parametrize("name", ["t.trace", "t.safetensors"])
def test_arrays_of_every_kind(tmp_path, name):
    whole = np.random.default_rng(0).normal(size=(4, 6))
    arrays = [
        *(whole, whole.T, whole[1:3], whole[::-1], whole[:, ::2], np.broadcast_to(whole[0], (3, 6))),
        *(np.asfortranarray(whole), np.empty((0, 3)), np.array(2.5), np.arange(5), np.array([True, False])),
        *(np.array([1e300, 1e-300]), whole[:2], np.lib.stride_tricks.sliding_window_view(whole[0], 3)),
    ]
    stored_and_read(trace_of(*arrays), tmp_path / name)


def test_other_tools_read_the_weights_in_a_safetensors_file(tmp_path):
    from safetensors.numpy import load_file

    array = np.random.default_rng(0).normal(size=(3, 4))
    write_trace(trace_of(array), tmp_path / "t.safetensors")
    read = load_file(tmp_path / "t.safetensors").values()
    assert any(np.array_equal(one, array) for one in read)


@pytest.mark.parametrize(
    ("content", "why"), [(b"not a file of tensors", "no safetensors file"), (None, "no record of a model")]
)
def test_a_safetensors_file_that_is_no_record_is_refused(tmp_path, content, why):
    from safetensors.numpy import save_file

    path = tmp_path / "t.safetensors"
    if content is None:
        save_file({"weight": np.ones(3)}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(DamagedTrace, match=why):
        read_trace(path)


def test_attributes_and_text(tmp_path):
    attributes = {"a": ((1, 2), ()), "b": None, "c": 0.1, "d": True, "e": "text ü"}
    stored_and_read(trace_of(np.ones(3), attributes=attributes), tmp_path / "t")


def test_what_shares_memory_is_stored_once_and_what_is_single_precision_as_such(tmp_path):
    whole = np.random.default_rng(0).normal(size=(100, 60)).astype(np.float32).astype(np.float64)
    read = stored_and_read(trace_of(whole, whole.T, whole[10:]), tmp_path / "t")
    assert whole.nbytes // 2 < (tmp_path / "t").stat().st_size < whole.nbytes // 2 + 4000
    assert np.shares_memory(read.values[0].array, read.values[1].array)
    late = whole.reshape(-1).copy()
    late[-1] = 0.1
    stored_and_read(trace_of(late), tmp_path / "late")
    assert (tmp_path / "late").stat().st_size > late.nbytes


def test_the_trace_of_a_model(tmp_path):
    layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True)
    stored_and_read(capture_model(layer, np.random.default_rng(0).normal(size=(2, 5, 12)), seed=1), tmp_path / "t")


def test_attributes_that_are_not_plain_are_refused(tmp_path):
    with pytest.raises(TypeError, match="an attribute that is a object"):
        write_trace(trace_of(np.ones(2), attributes={"a": object()}), tmp_path / "t")


# --- damage -----------------------------------------------------------------------------------------------------------


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    whole = np.arange(12.0).reshape(3, 4) / 3
    write_trace(trace_of(whole, whole.T), tmp_path / "t")
    return tmp_path / "t"


def rewritten(path: Path, changed: dict[str, bytes | None], compression: int = zipfile.ZIP_STORED) -> None:
    contents = {**members(path), **changed}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in contents.items():
            if content is not None:
                archive.writestr(name, content)


def damage(path: Path) -> str:
    with pytest.raises(DamagedTrace) as caught:
        read_trace(path)
    assert "record the model again" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("length", [0, 1, 30, 200, -1, -50])
def test_a_file_that_was_cut_off(path, length):
    path.write_bytes(path.read_bytes()[:length])
    assert "not a readable archive" in damage(path)


def test_a_flipped_bit(path):
    content = bytearray(path.read_bytes())
    content[content.index(b"NUMPY") + 150] ^= 1
    path.write_bytes(content)
    damage(path)


def test_no_file(tmp_path):
    assert "No such file" in damage(tmp_path / "none")


def array_bytes(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def test_pickles_are_not_read(path):
    class Harm:
        def __reduce__(self):
            return (open, (str(path) + ".harm", "w"))

    rewritten(path, {"0.npy": array_bytes(np.array([Harm()], dtype=object))})
    assert "dtype object" in damage(path)
    rewritten(path, {"trace.json": pickle.dumps(Harm())})
    assert "not JSON" in damage(path)
    assert not Path(str(path) + ".harm").exists()


def test_a_header_that_promises_too_much(path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    rewritten(path, {"0.npy": stream.getvalue() + bytes(96)})
    assert "not as long as its shape" in damage(path)


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x93NUMPY\x01\x00"])
def test_a_header_that_is_none(path, content):
    rewritten(path, {"0.npy": content})
    damage(path)


def test_compressed_and_missing_members(path):
    rewritten(path, {"0.npy": None})
    assert "0.npy is missing" in damage(path)
    rewritten(path, {"trace.json": b" " * 10**6}, zipfile.ZIP_DEFLATED)
    assert "compressed" in damage(path)


def test_truth_values_have_two_values(tmp_path):
    write_trace(trace_of(np.array([True, False])), tmp_path / "t")
    content = members(tmp_path / "t")["0.npy"]
    rewritten(tmp_path / "t", {"0.npy": content[:-1] + b"\x07"})
    assert "truth values" in damage(tmp_path / "t")


CHANGES = {
    "format": lambda j: j.update(format=2),
    "no object": lambda j: j.update(modules=[]),
    "no list": lambda j: j.update(steps={}),
    "origin": lambda j: j["values"][0].__setitem__(0, "elsewhere"),
    "dtype": lambda j: j["values"][0].__setitem__(3, "int64"),
    "number": lambda j: j["values"][0].__setitem__(4, True),
    "beyond": lambda j: j["values"][0].__setitem__(6, 1),
    "negative": lambda j: j["values"][0].__setitem__(7, [-4, 1]),
    "shape": lambda j: j["values"][0].__setitem__(5, [3, 5]),
    "endless": lambda j: (j["values"][0].__setitem__(5, [10**12, 1]), j["values"][0].__setitem__(7, [0, 1])),
    "member": lambda j: j["values"][0].__setitem__(4, 99),
    "incomplete": lambda j: j["values"][0].pop(),
    "kind": lambda j: j["steps"][0].__setitem__(1, "magic"),
    "operand": lambda j: j["steps"][0].__setitem__(2, [99]),
    "order": lambda j: j["steps"][0].__setitem__(2, [2]),
    "nobody": lambda j: j.update(steps=[]),
    "attributes": lambda j: j["steps"][0].__setitem__(7, {"a": {}}),
    "output": lambda j: j.update(outputs=[-1]),
    "name": lambda j: j["values"][0].__setitem__(1, 3),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_description_that_cannot_be(path, change):
    described = json.loads(members(path)["trace.json"])
    change(described)
    rewritten(path, {"trace.json": json.dumps(described).encode()})
    damage(path)


def test_a_description_that_is_too_deep(path):
    rewritten(path, {"trace.json": b"[" * 100_000})
    assert "not JSON" in damage(path)


def test_control_characters_are_escaped(path):
    described = json.loads(members(path)["trace.json"])
    described["values"][0][1] = "a\x1b[2J"
    rewritten(path, {"trace.json": json.dumps(described).encode()})
    assert read_trace(path).values[0].name == "a\\x1b[2J"
