"""Plant the faults of faults.toml in the models of the zoo.

    python benchmarks/models/planting.py --check [--model GLOB ...]

Checks that each fault applies, that the changed model runs, and that it returns something else than the right one in
float64, by more than 1e-9 of its size, when the same parameters, drawn anew, are put into both. Prints those of which
this is not true, and a table; exit status 1 where there is one.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "jax")

FOLDER = Path(__file__).parent
ZOO = FOLDER / "zoo"
FAULTS = FOLDER / "faults.toml"
LEAST = 1e-9
SHAPE = (2, 11)
STEPS = (
    "embedding",
    "positions",
    "norm",
    "query",
    "key",
    "value",
    "rotary",
    "logits",
    "mask",
    "weights",
    "heads_output",
    "attention_output",
    "residual",
    "hidden",
    "activation",
    "feed_forward",
    "final_norm",
    "unembedding",
    "cross_attention",
)

Array = np.ndarray[Any, np.dtype[Any]]
Inputs = Array | tuple[Array, ...] | dict[str, Array]


@dataclass(frozen=True)
class Fault:
    """One mistake in one model: what is replaced by what, and where the first departure is to be found.

    `occurrence` counts from 1; 0 stands for a text that must occur once. `layer` is the index of the only layer that is
    wrong, or "all". `part` is the path of the module in which the first departure is, or that should have run and did
    not; "" is the model itself. Where a model has no modules, it is the path of the parameters. `mistake` is a slug of
    the catalogue or empty. `convention`: the changed program is a correct model of another kind, or the same one with
    its parameters in another order.
    """

    model: str
    find: str
    replace: str
    layer: int | Literal["all"]
    part: str
    step: str
    mistake: str
    note: str
    occurrence: int = 0
    convention: bool = False

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise ValueError(f"{self}: unknown step {self.step!r}; known: {', '.join(STEPS)}")
        if self.layer != "all" and not isinstance(self.layer, int):
            raise ValueError(f"{self}: layer is {self.layer!r}; it must be an index or 'all'")

    @property
    def text(self) -> str:
        """The changed program; ValueError where what is replaced is not there, or there more often than said."""
        text = source(self.model)
        times = text.count(self.find)
        if times != 1 and not self.occurrence:
            raise ValueError(f"{self.find!r} occurs {times} times in {self.model}; it must once, or say `occurrence`")
        if times < self.occurrence:
            raise ValueError(f"{self.find!r} occurs {times} times in {self.model}, not {self.occurrence}")
        pieces = text.split(self.find)
        at = max(self.occurrence, 1)
        return self.find.join(pieces[:at]) + self.replace + self.find.join(pieces[at:])

    def __str__(self) -> str:
        """Return the model and the note."""
        return f"{self.model}: {self.note}"


def source(model: str) -> str:
    """Return the text of a model of the zoo; ValueError where there is none of that name."""
    path = ZOO / f"{model}.py"
    if not path.exists():
        raise ValueError(f"no model {model!r} in {ZOO}; there are {', '.join(models())}")
    return path.read_text(encoding="utf-8")


def models() -> list[str]:
    """Return the names of the models of the zoo."""
    return sorted(path.stem for path in ZOO.glob("*.py"))


def faults(globs: Sequence[str] = ("*",)) -> list[Fault]:
    """Return the faults of the models that the globs choose."""
    entries = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    every = [Fault(**entry) for entry in entries]
    return [fault for fault in every if any(fnmatchcase(fault.model, glob) for glob in globs)]


@contextmanager
def planted(fault: Fault) -> Iterator[Path]:
    """Write the changed program to a temporary folder, under the name of the right one, and yield its path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{fault.model}.py"
        path.write_text(fault.text, encoding="utf-8")
        yield path


def imported(model: str | Path) -> ModuleType:
    """Import a model of the zoo by its name, or a program by its path."""
    path = ZOO / f"{model}.py" if isinstance(model, str) else model
    specification = importlib.util.spec_from_file_location(f"zoo_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise ValueError(f"cannot import {path}")
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look their module up; where another program had the name, it is not needed any more.
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def built(module: ModuleType) -> Any:
    """Return the model that the program builds."""
    return module.build()


def zoo_inputs(module: ModuleType) -> Inputs:
    """Return the inputs that the program asks for, else tokens."""
    if hasattr(module, "inputs"):
        given: Inputs = module.inputs()
        return given
    return np.random.default_rng(0).integers(2, 50, SHAPE)


def perturbed(array: Array, generator: np.random.Generator) -> Array:
    """Return a parameter drawn anew: no symmetry of the initial values may hide a fault."""
    if array.dtype.kind != "f":
        return array
    noise = np.asarray(generator.normal(size=array.shape))
    return 0.4 * noise if array.ndim >= 2 else array + 0.3 * noise


def outputs(module: ModuleType, seed: int = 0) -> Array:
    """Return what the program's model gives in float64 for its inputs, with parameters drawn anew from the seed.

    The parameters' values depend on the seed and on their paths, so that two programs with the same parameters get the
    same, in whatever order they make them.
    """
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    if "import torch" in text:
        return _torch_outputs(module, seed)
    if "import keras" in text:
        return _keras_outputs(module, seed)
    return _jax_outputs(module, seed)


def _generator(seed: int, path: str) -> np.random.Generator:
    return np.random.default_rng([seed, *path.encode()])


def _torch_outputs(module: ModuleType, seed: int) -> Array:
    import torch  # an import of a framework is slow, and many runs need one only

    torch.manual_seed(seed)
    model = built(module).eval().double()
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            parameter.copy_(torch.as_tensor(perturbed(parameter.numpy(), _generator(seed, path))))

        def tensor(array: Array) -> Any:
            found = torch.as_tensor(array)
            return found.double() if found.is_floating_point() else found

        given = zoo_inputs(module)
        # A dropout that is left on gives the same numbers every time.
        torch.manual_seed(seed)
        if isinstance(given, dict):
            found = model(**{name: tensor(array) for name, array in given.items()})
        else:
            found = model(*map(tensor, given if isinstance(given, tuple) else (given,)))
    first = found[0] if isinstance(found, tuple) else found
    return np.asarray(first.numpy())


def _jax_outputs(module: ModuleType, seed: int) -> Array:
    import jax

    with jax.enable_x64(True):
        function, parameters = _as_function(built(module))
        leaves, tree = jax.tree_util.tree_flatten_with_path(parameters)
        drawn = [_drawn(leaf, jax.tree_util.keystr(path), seed) for path, leaf in leaves]
        tokens = jax.numpy.asarray(zoo_inputs(module))
        return np.asarray(function(jax.tree_util.tree_unflatten(tree, drawn), tokens))


def _drawn(leaf: Any, path: str, seed: int) -> Any:
    """Return a leaf of the parameters in float64 and drawn anew, anything else as it is."""
    import jax

    if not hasattr(leaf, "dtype") or not jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
        return leaf
    return jax.numpy.asarray(perturbed(np.asarray(leaf, dtype=np.float64), _generator(seed, path)))


def _as_function(model: Any) -> tuple[Callable[[Any, Any], Any], Any]:
    """Return a model as a function of its parameters and the tokens, in evaluation mode, and the parameters."""
    if isinstance(model, tuple):
        function, parameters = model
        return function, parameters
    from flax import nnx

    if isinstance(model, nnx.Module):
        model.eval()
        structure, parameters, rest = nnx.split(model, nnx.Param, ...)
        return (lambda given, tokens: nnx.merge(structure, given, rest)(tokens)), parameters
    import equinox

    parameters, structure = equinox.partition(model, equinox.is_array)
    return (lambda given, tokens: equinox.combine(given, structure)(tokens)), parameters


def _keras_outputs(module: ModuleType, seed: int) -> Array:
    import keras

    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    try:
        model = built(module)
        for weight in model.trainable_weights:
            weight.assign(perturbed(keras.ops.convert_to_numpy(weight.value), _generator(seed, weight.path)))
        keras.utils.set_random_seed(seed)
        return np.asarray(keras.ops.convert_to_numpy(model(zoo_inputs(module))))
    finally:
        keras.config.set_floatx(before[0])
        keras.config.set_dtype_policy(before[1])


@cache
def right_outputs(model: str) -> Array:
    """Return what a model of the zoo gives as it stands."""
    return outputs(imported(model))


def complaint(fault: Fault) -> str:
    """Return what is wrong with a fault, "" where it applies, runs and changes the outputs."""
    right = right_outputs(fault.model)
    try:
        with planted(fault) as path:
            wrong = outputs(imported(path))
    except Exception as error:  # a changed program may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    if wrong.shape != right.shape:
        return f"the outputs have shape {wrong.shape}, not {right.shape}"
    if not np.isfinite(wrong).all():
        return "" if _is_known_to_overflow(fault) else "the outputs are not finite"
    change = float(np.abs(wrong - right).max() / np.abs(right).max())
    return "" if change > LEAST else f"the outputs change by {change:.1e} only"


def _is_known_to_overflow(fault: Fault) -> bool:
    """Return whether NaN is what the mistake gives: a row without a visible key."""
    return fault.mistake in ("causal_mask_excludes_self", "fully_masked_row_nan")


def main(words: Sequence[str] | None = None) -> int:
    """Print the faults that are none, and a table of the rest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", required=True)
    parser.add_argument("--model", nargs="*", default=["*"])
    chosen = faults(parser.parse_args(words).model)
    warnings.simplefilter("ignore")
    wrong = 0
    for fault in chosen:
        told = complaint(fault)
        wrong += bool(told)
        if told:
            print(f"- {fault}\n    {told}", flush=True)
    print("\n| model | faults | in one layer | of the catalogue |\n|" + " --- |" * 4)
    for model, count in sorted(Counter(fault.model for fault in chosen).items()):
        print(f"| {model} | {count} | {_table_end([fault for fault in chosen if fault.model == model])}")
    print(f"| all | {len(chosen)} | {_table_end(chosen)}\n\n{len(chosen) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


def _table_end(some: Sequence[Fault]) -> str:
    return f"{sum(fault.layer != 'all' for fault in some)} | {sum(bool(fault.mistake) for fault in some)} |"


if __name__ == "__main__":
    sys.exit(main())
