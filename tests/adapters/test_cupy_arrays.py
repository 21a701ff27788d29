"""CuPy's arrays, as far as they can be tried without a GPU: on a stand-in whose arrays NumPy cannot read."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.arrays import framework
from veriformer.adapters.errors import LoadError, UnsupportedDtype
from veriformer.adapters.loading import load


class Array:
    """An array on a device: nothing but its own library reads it, and only while the device is the current one."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    T = property(lambda self: Array(self.values.T))

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __getitem__(self, key: object) -> Array:
        return Array(self.values[key])

    def __setitem__(self, key: object, value: object) -> None:
        self.values[key] = value.values if isinstance(value, Array) else value

    def __invert__(self) -> Array:
        return Array(~self.values)


@pytest.fixture
def cupy(monkeypatch):
    done = []

    @contextmanager
    def device(number=None):
        if number == 7:
            raise RuntimeError("cudaErrorInvalidDevice")
        done.append(f"on {number}")
        yield
        done.append(f"off {number}")

    stream = SimpleNamespace(synchronize=lambda: done.append("waited"))
    cuda = SimpleNamespace(Device=device, get_current_stream=lambda: stream, is_available=lambda: True)
    stand_in = SimpleNamespace(
        done=done,
        cuda=cuda,
        ndarray=Array,
        array=lambda values: Array(np.array(values)),
        asnumpy=lambda array: array.values,
        empty=lambda shape, dtype: Array(np.empty(shape, dtype)),
        zeros=lambda shape: Array(np.zeros(shape)),
    )
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    monkeypatch.delitem(sys.modules, "veriformer.adapters.cupy_arrays", raising=False)
    yield stand_in
    monkeypatch.delitem(sys.modules, "veriformer.adapters.cupy_arrays", raising=False)
    importlib.invalidate_caches()


def test_values_go_there_and_come_back(cupy):
    arrays = framework("cupy")
    assert arrays.dtypes == ("float16", "float32", "float64")
    for dtype in arrays.dtypes:
        made = arrays.from_numpy(np.array([1.0, -0.0, np.inf]), dtype)
        assert (arrays.is_array(made), arrays.dtype_name(made)) == (True, dtype)
        assert str(arrays.to_numpy(made).tolist()) == "[1.0, -0.0, inf]"
    assert arrays.dtype_name(arrays.from_numpy(np.array([True]))) == "bool"
    assert arrays.dtype_name(arrays.from_numpy(np.array([1], dtype=np.int8))) == "int64"
    with pytest.raises(UnsupportedDtype, match="cupy has no bfloat16 here"):
        arrays.from_numpy(np.ones(2), "bfloat16")


@pytest.mark.parametrize("values", [np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3), np.eye(2) > 0])
def test_a_strided_array_has_gaps(cupy, values):
    arrays = framework("cupy")
    view = arrays.strided(arrays.from_numpy(values, "float32"))
    assert np.array_equal(arrays.to_numpy(view), values)
    assert not (view.values.flags.c_contiguous or view.values.flags.f_contiguous)


def test_arrays_are_written_over(cupy):
    arrays = framework("cupy")
    first, second = (arrays.from_numpy(np.full(3, value), "float32") for value in (1.0, 2.0))
    arrays.overwrite(first, second)
    assert arrays.to_numpy(first).tolist() == [2.0, 2.0, 2.0]


def test_a_call_is_made_on_its_device_and_waited_for(cupy):
    arrays = framework("cupy").on("cuda:1")
    cupy.done.clear()
    arrays.call(lambda: cupy.done.append("called"), (), {})
    assert cupy.done == ["on 1", "called", "waited", "off 1"]
    for device, sentence in (("cuda:7", "no device 'cuda:7' here"), ("gpu", "its devices are 'cuda:0'")):
        with pytest.raises(LoadError, match=sentence):
            arrays.on(device)


def test_without_a_device_there_is_no_dtype(cupy):
    cupy.cuda.is_available = lambda: False
    with pytest.raises(UnsupportedDtype, match=r"^cupy has no CUDA device here; run this where there is one$"):
        framework("cupy").from_numpy(np.ones(2), "float32")
    with pytest.raises(LoadError, match=r": cupy has no CUDA device here"):
        load(SimpleNamespace(framework="cupy", softmax=lambda x: x))
    with pytest.raises(LoadError, match=r"dtypes has 'float64', but cupy has no CUDA device here"):
        load(SimpleNamespace(framework="cupy", dtypes=("float64",), softmax=lambda x: x))
