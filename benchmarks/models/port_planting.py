"""Correct ports of models, and the faults of ports/faults.toml planted in them one at a time.

    python benchmarks/models/port_planting.py --agree [PAIR GLOB ...] [--seeds 0-4]
    python benchmarks/models/port_planting.py --check [PAIR GLOB ...] [--seeds 0-1]

`--agree` runs both models of each pair in float64 and prints the largest difference of their outputs, relative to their
size; exit status 1 above 2e-6, which is what constants in float32 leave (rotary frequencies, gains to which one was
added).

`--check` checks that each fault applies, that the changed port runs, and that it changes what it says: the outputs
(`visible = "outside"`) by ten times the difference of the correct pair, or only values inside (`"inside"`) while the
outputs stay. Prints those of which this is not true, and a table; exit status 1 where there is one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

os.environ.setdefault("KERAS_BACKEND", "jax")

from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.trace import Trace

PORTS = Path(__file__).parent / "ports"
FAULTS = PORTS / "faults.toml"
HELD_OUT = PORTS / "held_out.toml"
# Ports in the ways of people outside the project, which tests import too.
STRANGERS = Path(__file__).parents[2] / "tests" / "ports" / "strangers"
FAULTS_OF_STRANGERS = STRANGERS / "faults.toml"
SEED = "VERIFORMER_PORT_SEED"
CORRECT, LEAST_CHANGE = 2e-6, 10
# The file of each port, and that of the model it was made from.
PAIRS = {
    "alibi_torch": "alibi_jax",
    "bert_jax": "bert_hf",
    "bert_torch": "bert_hf",
    "gemma2_nnx": "gemma2_hf",
    "gpt2_jax": "gpt2_hf",
    "gpt2_nnx": "gpt2_hf",
    "gpt2_numpy": "gpt2_hf",
    "llama3_nnx": "llama3_hf",
    "llama_equinox": "llama_hf",
    "llama_scan": "llama_hf",
    "llama_torch": "llama_hf",
    "neox_jax": "neox_hf",
    "sinusoid_torch": "sinusoid_keras",
    "small_gpt_onnx": "small_gpt",
    "t5_torch": "t5_hf",
    "vit_keras": "vit_hf",
}
PAIRS_OF_STRANGERS = {
    "bart_jax": "bart_hf",
    "bloom_torch": "bloom_hf",
    "charlm_keras": "charlm_lightning",
    "clip_torch": "clip_hf",
    "cohere_torch": "cohere_hf",
    "distilbert_onnx": "distilbert_hf",
    "encoder_torch": "encoder_keras",
    "falcon_nnx": "falcon_hf",
    "gemma_torch": "gemma_hf",
    "mingpt_keras": "mingpt",
    "mistral_nnx": "mistral_bf16",
    "mixtral_torch": "mixtral_hf",
    "nanogpt_equinox": "nanogpt",
    "olmo2_jax": "olmo2_hf",
    "opt_numpy": "opt_hf",
    "phi_torch": "phi_hf",
    "picture_equinox": "picture_torch",
    "qwen2_torch": "qwen2_hf",
    "qwen3_jax": "qwen3_hf",
    "roberta_numpy": "roberta_hf",
    "seq2seq_numpy": "seq2seq_torch",
    "t5_jax": "t5_hf",
    "translate_own": "translate_torch",
    "whisper_linen": "whisper_hf",
}
CAUSES = ("weight", "convention", "mistake", "factor", "precision")
_FRAMEWORKS = {
    "nnx": "Flax NNX",
    "linen": "Flax linen",
    "jax": "JAX",
    "scan": "JAX",
    "torch": "torch",
    "own": "torch",
    "numpy": "NumPy",
    "keras": "Keras",
    "onnx": "ONNX",
}

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Fault:
    """One mistake in one port: what is replaced by what, and what a comparison with the source should say of it.

    `where` is "code" or "converter". `occurrence` counts from 1; 0 stands for a text that must occur once. `part` lists
    texts, one of which occurs in the path of the right part on either side, or is all of it after "=". `step` lists the
    steps of the specification that count as right, `cause` the kinds of cause, and `names` the names: slugs of the
    catalogue of mistakes, conventions, or words for what happened to a weight. `visible` is "inside" where the outputs
    stay what they are.
    """

    pair: str
    find: str
    replace: str
    where: Literal["code", "converter"]
    part: tuple[str, ...]
    step: tuple[str, ...]
    cause: tuple[str, ...]
    names: tuple[str, ...]
    note: str
    visible: Literal["outside", "inside"] = "outside"
    occurrence: int = 0

    def __post_init__(self) -> None:
        unknown = [one for one in self.cause if one not in CAUSES]
        if unknown or self.pair not in {**PAIRS, **PAIRS_OF_STRANGERS} or self.where not in ("code", "converter"):
            raise ValueError(f"{self}: unknown pair, place or cause; causes are {', '.join(CAUSES)}")

    @property
    def text(self) -> str:
        """The changed port; ValueError where what is replaced is not there, or there more often than said."""
        text = (folder_of(self.pair) / f"{self.pair}.py").read_text(encoding="utf-8")
        times = text.count(self.find)
        if times < max(self.occurrence, 1) or (times != 1 and not self.occurrence):
            raise ValueError(f"{self.find!r} occurs {times} times in {self.pair}; it must once, or say `occurrence`")
        pieces = text.split(self.find)
        at = max(self.occurrence, 1)
        return self.find.join(pieces[:at]) + self.replace + self.find.join(pieces[at:])

    def __str__(self) -> str:
        """Return the pair and the note."""
        return f"{self.pair}: {self.note}"


def faults(globs: Sequence[str] = ("*",), file: Path = FAULTS) -> list[Fault]:
    """Return the faults of the pairs that the globs choose."""
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["fault"]
    every = [Fault(**{name: _listed(name, value) for name, value in entry.items()}) for entry in entries]
    return [fault for fault in every if any(fnmatchcase(fault.pair, glob) for glob in globs)]


def _listed(name: str, value: Any) -> Any:
    """Return a tuple where one text may stand for a list of them."""
    if name not in ("part", "step", "cause", "names"):
        return value
    return (value,) if isinstance(value, str) else tuple(value)


def chosen(globs: Sequence[str], pairs: Mapping[str, str] = PAIRS) -> list[str]:
    """Return the pairs that the globs choose, by the names of their ports."""
    return [pair for pair in pairs if any(fnmatchcase(pair, glob) for glob in globs)]


def folder_of(pair: str) -> Path:
    """Return the folder with the files of a pair."""
    return PORTS if pair in PAIRS else STRANGERS


def source_of(pair: str) -> str:
    """Return the name of the model that a port was made from."""
    return {**PAIRS, **PAIRS_OF_STRANGERS}[pair]


def framework_of(pair: str) -> str:
    """Return what a port is written in."""
    end = pair.rpartition("_")[2]
    return _FRAMEWORKS.get(end, end.capitalize())


@contextmanager
def planted(pair: str, text: str | None = None) -> Iterator[tuple[Path, Path]]:
    """Copy a pair to a temporary folder, the port perhaps changed, and yield the paths of source and port."""
    with tempfile.TemporaryDirectory() as folder:
        weights = "drawing" if pair in PAIRS else "trained"
        for name in (weights, source_of(pair), pair):
            shutil.copy(folder_of(pair) / f"{name}.py", folder)
        source, port = Path(folder) / f"{source_of(pair)}.py", Path(folder) / f"{pair}.py"
        if text is not None:
            port.write_text(text, encoding="utf-8")
        yield source, port


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let the sources draw their weights from a seed."""
    before = os.environ.get(SEED)
    os.environ[SEED] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED]
        else:
            os.environ[SEED] = before


def trace_of(path: Path, seed: int) -> Trace:
    """Return the record of a model on the inputs of its file, in float64, with the weights that it has."""
    with seeded(seed):
        return capture_model(f"{path}:build", seed=None)


def output(trace: Trace) -> Array:
    """Return the first output of a model: its logits."""
    return np.asarray(trace.values[trace.outputs[0]].array)


def difference(one: Array, other: Array) -> float:
    """Return the largest difference, relative to the size of the first; infinity where shapes differ."""
    if one.shape != other.shape:
        return float("inf")
    return float(np.abs(one - other).max() / np.abs(one).max())


@cache
def source_output(pair: str, seed: int) -> Array:
    """Return what the source of a pair gives."""
    with planted(pair) as (source, _):
        return output(trace_of(source, seed))


@cache
def right_trace(pair: str, seed: int) -> Trace:
    """Return the record of a port as it stands."""
    with planted(pair) as (_, port):
        return trace_of(port, seed)


def complaint(fault: Fault, seed: int) -> str:
    """Return what is wrong with a fault, "" where it applies, runs and changes what it should."""
    try:
        with planted(fault.pair, fault.text) as (_, port):
            wrong = trace_of(port, seed)
    except Exception as error:  # a changed port may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    source, right = source_output(fault.pair, seed), right_trace(fault.pair, seed)
    change = difference(source, output(wrong))
    if not np.isfinite(output(wrong)).all():
        return "the outputs are not finite"
    if change == float("inf"):
        return f"the outputs have shape {output(wrong).shape}, not {source.shape}"
    noise = max(difference(source, output(right)), 1e-12)
    if fault.visible == "inside":
        if change > CORRECT:
            return f"the outputs change by {change:.1e}, although the fault is said to be visible inside only"
        return "" if _inside(right) != _inside(wrong) else "nothing inside changes"
    return "" if change > LEAST_CHANGE * noise else f"the outputs change by {change:.1e} only, against {noise:.1e}"


def _inside(trace: Trace) -> list[tuple[Any, ...]]:
    """Return a number for every array of a record, to three digits."""
    return [
        (value.array.shape, *(f"{number:.3e}" for number in (np.abs(value.array).sum(), np.square(value.array).sum())))
        for value in trace.values
        if value.array.dtype.kind == "f"
    ]


def _agree(pairs: Sequence[str], seeds: Sequence[int]) -> int:
    """Print the largest difference of each correct pair."""
    print("| port | from | in | largest difference |\n|" + " --- |" * 4)
    worst = 0.0
    for pair in pairs:
        found = max(difference(source_output(pair, seed), output(right_trace(pair, seed))) for seed in seeds)
        worst = max(worst, found)
        print(f"| {pair} | {source_of(pair)} | {framework_of(pair)} | {found:.1e} |", flush=True)
    return 1 if worst > CORRECT else 0


def _check(some: Sequence[Fault], seeds: Sequence[int]) -> int:
    """Print the faults that are none, and a table of the rest."""
    wrong = 0
    for fault in some:
        told = next((f"seed {seed}: {text}" for seed in seeds if (text := complaint(fault, seed))), "")
        wrong += bool(told)
        if told:
            print(f"- {fault}\n    {told}", flush=True)
    print("\n| port | faults | in the code | in the converter | inside only |\n|" + " --- |" * 5)
    for pair, count in sorted(Counter(fault.pair for fault in some).items()):
        print(f"| {pair} | {count} | {_counts([fault for fault in some if fault.pair == pair])}")
    print(f"| all | {len(some)} | {_counts(some)}\n\n{len(some) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


def _counts(some: Sequence[Fault]) -> str:
    places = Counter(fault.where for fault in some)
    return f"{places['code']} | {places['converter']} | {sum(fault.visible == 'inside' for fault in some)} |"


def seeds_in(text: str) -> list[int]:
    """Return the seeds that "3" or "0-4" names."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(words: Sequence[str] | None = None) -> int:
    """Check the correct pairs, or the faults."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pairs", nargs="*", default=["*"], help="globs of the ports' names")
    parser.add_argument("--seeds", type=seeds_in, default=[0], help="one seed, or a range such as 0-4")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--agree", action="store_true", help="check that the correct pairs agree")
    what.add_argument("--check", action="store_true", help="check that every fault is one")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    pairs = chosen(options.pairs)
    if not pairs:
        parser.error(f"no port is called {' or '.join(options.pairs)}; there are {', '.join(PAIRS)}")
    if options.agree:
        return _agree(pairs, options.seeds)
    return _check(faults(options.pairs), options.seeds)


if __name__ == "__main__":
    sys.exit(main())
