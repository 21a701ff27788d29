"""Arrays of every framework: exact conversions, copies, strides, and clear refusals."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer.adapters.arrays import framework
from veriformer.adapters.errors import LoadError, MissingFramework, UnsupportedDtype
from veriformer.adapters.installation import installation
from veriformer.adapters.loading import load

# Representable in bfloat16 (8 significant bits) and in float16 (11 bits, exponents −14 … 15).
EVERYWHERE = np.array([0.0, -0.0, 1.0, -1.5, 0.0078125, 255.0, np.inf, -np.inf, np.nan])
# One unit in the last place from 1, and the largest and smallest numbers, of each dtype.
EDGES = {
    "float16": [1 + 2.0**-10, 65504.0, 2.0**-24],
    "bfloat16": [1 + 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-133],
    "float32": [1 + 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-149],
    "float64": [1 + 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1074],
}
DTYPES = {
    "numpy": ("float16", "float32", "float64"),
    "torch": ("float16", "bfloat16", "float32", "float64"),
    "jax": ("float16", "bfloat16", "float32"),
    "tensorflow": ("float16", "bfloat16", "float32", "float64"),
    "mlx": ("float16", "bfloat16", "float32", "float64"),
    "tinygrad": ("float16", "float32", "float64"),
}
FRAMEWORKS = tuple(DTYPES)
COMPILING = ("jax", "tinygrad")
PAIRS = [(name, dtype) for name, dtypes in DTYPES.items() for dtype in dtypes]
INSTALLED = tuple(name for name in FRAMEWORKS if find_spec(name))


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_representable_values_survive_the_round_trip(name, dtype):
    values = np.concatenate([EVERYWHERE, EDGES[dtype]]).reshape(3, 4)
    arrays = framework(name)
    array = arrays.from_numpy(values, dtype)
    assert arrays.dtype_name(array) == dtype
    back = arrays.to_numpy(array)
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, values)
    np.testing.assert_array_equal(np.signbit(back), np.signbit(values))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_dtypes_tried_here_are_all_that_there_are(name):
    assert [dtype for dtype in framework(name).dtypes if (name, dtype) != ("tinygrad", "bfloat16")] == [*DTYPES[name]]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_bool_stays_bool_whatever_the_dtype(name):
    arrays = framework(name)
    array = arrays.from_numpy(np.array([[True, False]]), "float32")
    assert arrays.dtype_name(array) == "bool"
    assert arrays.to_numpy(array).dtype == np.bool_


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_integers_become_the_framework_widest(name):
    arrays, expected = framework(name), "int32" if name == "jax" else "int64"
    array = arrays.from_numpy(np.array([3, -1], dtype=np.int16))
    assert arrays.dtype_name(array) == expected
    back = arrays.to_numpy(array)
    assert back.dtype == np.int64
    assert back.tolist() == [3, -1]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_no_memory_is_shared_in_either_direction(name):
    arrays = framework(name)
    values = np.ones((2, 3), dtype=np.float32)
    array = arrays.from_numpy(values, "float32")
    values[:] = 7
    back = arrays.to_numpy(array)
    assert back.max() == 1
    back[:] = 7
    assert arrays.to_numpy(array).max() == 1


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_read_only_array_is_accepted(name):
    values = np.broadcast_to(np.array([True, False]), (3, 2))
    arrays = framework(name)
    np.testing.assert_array_equal(arrays.to_numpy(arrays.from_numpy(values)), values)


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 5, 7), (1, 1, 1, 2)])
@pytest.mark.parametrize("kind", ["float", "bool", "int"])
def test_strided_arrays_have_the_same_values_and_gaps(name, shape, kind):
    arrays = framework(name)
    values = np.arange(np.prod(shape)).reshape(shape) % 3
    values = {"float": values.astype(float), "bool": values > 0, "int": values}[kind]
    view = arrays.strided(arrays.from_numpy(values, "float32"))
    np.testing.assert_array_equal(arrays.to_numpy(view), values)
    assert tuple(view.shape) == shape
    contiguous = view.flags.c_contiguous or view.flags.f_contiguous if name == "numpy" else view.is_contiguous()
    assert not contiguous


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_the_gaps_of_a_strided_array_hold_nan(name):
    view = framework(name).strided(framework(name).from_numpy(np.ones(3), "float32"))
    buffer = view.base if name == "numpy" else view._base
    whole = framework(name).to_numpy(buffer).ravel()
    assert whole[::2].tolist() == [1, 1, 1]
    assert np.isnan(whole[1::2]).all()


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_scalars_and_empty_arrays_have_no_strides_to_change(name, shape):
    arrays = framework(name)
    assert arrays.to_numpy(arrays.strided(arrays.from_numpy(np.ones(shape), "float32"))).shape == shape


def test_each_framework_knows_only_its_own_arrays():
    made = {name: framework(name).from_numpy(np.ones(2), "float32") for name in INSTALLED}
    for name in INSTALLED:
        assert [other for other in INSTALLED if framework(name).is_array(made[other])] == [name]
        assert not framework(name).is_array([1.0])


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_some_frameworks_compile_per_shape(name):
    assert framework(name).compiles_per_shape is (name in COMPILING)


def test_numpy_has_no_bfloat16():
    with pytest.raises(UnsupportedDtype, match=r"^numpy has no bfloat16; its dtypes are float16, float32, float64$"):
        framework("numpy").from_numpy(np.ones(2), "bfloat16")


def test_jax_float64_needs_x64():
    pytest.importorskip("jax")
    with pytest.raises(UnsupportedDtype, match=r"jax has float64 only with x64: set JAX_ENABLE_X64=1"):
        framework("jax").from_numpy(np.ones(2), "float64")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_floats_need_a_dtype_and_objects_are_no_argument(name):
    with pytest.raises(ValueError, match="needs a dtype"):
        framework(name).from_numpy(np.ones(2))
    with pytest.raises(TypeError, match="must be float, int or bool, not complex128"):
        framework(name).from_numpy(np.ones(2) * 1j, "float32")


def test_torch_results_are_detached():
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    assert framework("torch").to_numpy(parameter * 2).tolist() == [2.0, 2.0]


def test_one_thread(monkeypatch):
    torch = pytest.importorskip("torch")
    received = []
    monkeypatch.setattr(torch, "set_num_threads", received.append)
    for name in INSTALLED:
        framework(name).use_one_thread()
    assert received == [1]


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow", "mlx", "tinygrad"])
def test_a_missing_framework_says_how_to_install_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "mlx.core" if name == "mlx" else name, None)
    with pytest.raises(MissingFramework) as caught:
        framework(name)
    assert str(caught.value) == f"{name} is not installed: {installation().install(name)}"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_broken_framework_is_told_apart_from_a_missing_one(monkeypatch):
    real = importlib.import_module

    def broken(name, *rest):
        if name == "torch":
            raise OSError("libtorch_cpu.so: cannot open shared object file")
        return real(name, *rest)

    monkeypatch.setattr("veriformer.adapters.arrays.import_module", broken)
    with pytest.raises(LoadError, match=r"torch is installed but cannot be imported \(OSError: libtorch_cpu") as caught:
        framework("torch")
    assert not isinstance(caught.value, MissingFramework)


def test_an_unknown_framework_is_a_mistake_of_the_caller():
    known = "numpy, torch, jax, tensorflow, mlx, tinygrad, cupy"
    with pytest.raises(ValueError, match=f"'paddle' is not a framework; the frameworks are {known}"):
        framework("paddle")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_arrays_on_a_named_device(framework):
    found = load(SimpleNamespace(framework=framework, device="cpu", softmax=lambda x: x)).framework
    placed = found.from_numpy(np.array([1.0, 2.0, 3.0]), "float32")
    assert found.is_array(placed)
    np.testing.assert_array_equal(found.to_numpy(found.strided(placed)), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("device", "sentence"), [("no_such", "has no device 'no_such'"), (7, "device is a int")])
def test_a_device_that_is_not_there_is_one_sentence(framework, device, sentence):
    with pytest.raises(LoadError, match=sentence):
        load(SimpleNamespace(framework=framework, device=device, softmax=lambda x: x))


@pytest.mark.parametrize("framework", ["torch"])
def test_the_arguments_of_a_call_are_on_the_device_that_is_named(framework):
    torch = pytest.importorskip("torch")
    meta = importlib.import_module("veriformer.adapters.torch_arrays").TorchArrays("meta")
    # The meta device holds no numbers, and is there on every machine.
    assert meta.from_numpy(np.array([1.0]), "float32").device == torch.device("meta")
    assert meta.from_numpy(np.array([True])).device == torch.device("meta")
