"""Finding an implementation: built-in, file, import path, object; every failure is one clear sentence."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.errors import LoadError, MissingFramework
from veriformer.adapters.installation import installation
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check

SOFTMAX = "def softmax(x):\n    return x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory whose modules do not outlive the test."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def failure(target: object) -> LoadError:
    with pytest.raises(LoadError) as caught:
        load(target)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_file(folder):
    write("mine.py", SOFTMAX)
    found = load("mine.py")
    assert (found.name, found.source, found.framework.name) == ("mine.py", "mine.py", "numpy")
    assert list(found.operations) == ["softmax"]
    assert found.dtypes == ("float32",)
    assert found.operations["softmax"](3) == 3


def test_a_file_in_a_folder_and_an_object_in_it(folder):
    write("deep/mine.py", f"class Box:\n    def softmax(self, x):\n        return x + 1\n{SOFTMAX}box = Box()\n")
    assert load("deep/mine.py").operations["softmax"](1) == 1
    assert load(f"{folder}/deep/mine.py:box").operations["softmax"](1) == 2


def test_a_file_is_private_and_read_afresh(folder):
    write("mine.py", SOFTMAX)
    first = load("mine.py")
    write("mine.py", SOFTMAX.replace("return x", "return 8"))
    assert load("mine.py").operations["softmax"](1) == 8
    assert first.operations["softmax"](1) == 1
    assert "mine" not in sys.modules
    assert not (folder / "__pycache__").exists()


def test_a_module_by_import_path(folder):
    write("package/__init__.py", "")
    write("package/part.py", f"{SOFTMAX}class Holder:\n    softmax = staticmethod(lambda x: -x)\n")
    assert load("package.part").operations["softmax"](2) == 2
    assert load("package.part:Holder").operations["softmax"](2) == -2
    assert load("package.part:Holder").source == "package.part:Holder"


def test_an_object_and_a_module():
    pytest.importorskip("torch")
    module = types.ModuleType("somewhere")
    module.softmax = abs
    assert load(module).name == "somewhere"

    class Mine:
        framework = "torch"
        dtypes = ("bfloat16",)

        def softmax(self, x):
            return x

    found = load(Mine())
    assert (found.name, found.framework.name, found.dtypes, found.source) == ("Mine", "torch", ("bfloat16",), None)


def test_a_missing_file_suggests_a_close_one(folder):
    write("my_attention.py", SOFTMAX)
    assert str(failure("my_atention.py")) == "there is no file my_atention.py; did you mean my_attention.py?"
    assert "check the path, seen from" in str(failure("something_else.py"))
    assert str(failure("nowhere/mine.py")).endswith("the folder nowhere does not exist either")


def test_a_folder_and_a_file_of_another_kind(folder):
    write("models/one.py", SOFTMAX)
    write("notes.txt", "")
    assert str(failure("models")) == "models is a folder; name a .py file in it, for example one.py"
    assert str(failure("./models/")) == "./models/ is a folder; name a .py file in it, for example one.py"
    assert str(failure("notes.txt")) == "notes.txt is not a Python file; name a file that ends in .py"
    assert "is empty" in str(failure(""))


def test_an_exception_at_import_names_the_line_and_keeps_the_original(folder):
    write("mine.py", "x = 1\n\ny = x / 0\n")
    error = failure("mine.py")
    assert str(error).startswith("mine.py cannot be imported: ZeroDivisionError: division by zero (line 3 of mine.py);")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None


def test_mlx_without_its_kernels_says_what_to_install(folder):
    write("mine.py", "raise ImportError('libmlx.so: cannot open shared object file: No such file or directory')\n")
    assert str(failure("mine.py")).endswith(f"; {installation().install('mlx')}, or the build of mlx for your GPU")


def test_the_line_is_that_of_the_own_file_not_of_the_library(folder):
    write("mine.py", "import json\n\n\njson.loads('{')\n")
    assert "(line 4 of mine.py)" in str(failure("mine.py"))


def test_a_syntax_error(folder):
    write("mine.py", "x = 1\ndef softmax(x:\n    return x\n")
    error = failure("mine.py")
    assert "mine.py cannot be imported: SyntaxError: " in str(error)
    assert "line 2" in str(error)
    assert isinstance(error.__cause__, SyntaxError)


def test_ending_the_program_at_import_is_caught(folder):
    write("mine.py", f"{SOFTMAX}import sys\nsys.exit(3)\n")
    error = failure("mine.py")
    assert "SystemExit: 3 (line 4 of mine.py)" in str(error)
    assert '`if __name__ == "__main__":`' in str(error)
    assert isinstance(error.__cause__, SystemExit)


def test_an_interrupt_at_import_passes(folder):
    write("mine.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load("mine.py")


def test_missing_imports_inside(folder, monkeypatch):
    write("mine.py", "import surely_not_there\n")
    error = failure("mine.py")
    assert "ModuleNotFoundError: No module named 'surely_not_there' (line 1 of mine.py)" in str(error)
    assert str(error).endswith("install surely_not_there, or put it next to the file")
    assert "cannot be imported" in str(failure("mine"))
    monkeypatch.setitem(sys.modules, "torch", None)
    write("other.py", "import torch\n")
    assert str(failure("other.py")).endswith(installation().install("torch"))


def test_a_relative_import_needs_the_import_path(folder):
    write("mine.py", "from .helpers import softmax\n")
    assert str(failure("mine.py")).endswith("a file in a package is named by its import path, package.module")


def test_a_failed_file_leaves_nothing_behind(folder):
    write("mine.py", "raise RuntimeError\n")
    before, path = set(sys.modules), list(sys.path)
    failure("mine.py")
    assert set(sys.modules) == before
    assert sys.path == path


def test_an_unknown_name_suggests_built_ins_and_modules(folder):
    write("my_attention.py", SOFTMAX)
    assert str(failure("troch")).endswith("no module called 'troch'; did you mean 'torch'?")
    assert str(failure("my_atention")).endswith("did you mean 'my_attention'?")
    assert str(failure("xyzzyx")).endswith(
        "the built-ins are numpy, torch, jax, flax, equinox, keras, and a file is named with its .py"
    )


def test_an_unknown_submodule(folder):
    write("package/__init__.py", SOFTMAX)
    write("package/attention.py", SOFTMAX)
    assert str(failure("package.atention")).endswith("did you mean 'package.attention'?")
    assert str(failure("package.softmax")).endswith("is not a module but an object; write package:softmax")
    assert "check the path" in str(failure("package.other"))


def test_a_missing_object(folder):
    write("mine.py", f"{SOFTMAX}class Attention:\n    pass\n")
    assert str(failure("mine:Atention")) == "mine has no object 'Atention'; did you mean 'Attention'?"
    assert str(failure("mine.py:zzz")) == "mine.py has no object 'zzz'; its names are Attention, softmax"


def test_a_built_in_without_its_framework(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingFramework, match="jax is not installed"):
        load("jax")


def test_none_is_no_implementation():
    assert "is None" in str(failure(None))


def test_a_class_whose_methods_need_an_instance():
    class Mine:
        def softmax(self, x):
            return x

    assert str(failure(Mine)).startswith("Mine is a class and its softmax needs an instance")


def test_finding_an_implementation_imports_no_framework_and_no_sympy(folder):
    write("mine.py", SOFTMAX)
    program = "import sys; from veriformer.adapters.loading import load; load('mine.py'); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "jax", "sympy", "veriformer.reference"} & set(done.stdout.split())


def test_a_file_that_switches_x64_on_may_declare_float64(folder):
    pytest.importorskip("jax")
    declared = "framework = 'jax'\ndtypes = ['float64']\n"
    write("mine.py", f"import jax\njax.config.update('jax_enable_x64', True)\n{declared}{SOFTMAX}")
    program = (
        "import numpy as np; from veriformer.adapters.loading import load\n"
        "arrays = load('mine.py').framework\n"
        "made = arrays.from_numpy(np.ones(1), 'float64'), arrays.from_numpy(np.array([1]))\n"
        "print(arrays.dtypes[-1], *(array.dtype for array in made))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["float64", "float64", "int64"]


def test_a_function_that_is_handed_over_has_its_name():
    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    report = check(softmax, laws="softmax.shape")
    assert report.implementation == "softmax"
    # What is printed is the report, and what a prompt shows is its headline.
    assert str(report) == report.text()
    assert repr(report) == "<Report: softmax obeys 1 law>"
