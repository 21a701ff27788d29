"""Whether a model is recognised without its names, and with its projections split or fused.

    python benchmarks/model_names.py [MODEL GLOB ...] [--seeds 0-2]

Each model of torch in `models/zoo` and `models/huggingface.py` is recorded once for each seed. In the record, every
module and parameter is renamed at random, the same one everywhere alike: m0, p0 and so on, without the numbers of
layers. Some models of the zoo are also rewritten: fused projections are split, split ones are fused. What is found must
have the same roles and conventions in the same order as before, and nothing may depart. Prints a table and the models
for which this is not true; exit status 1 where it is true for fewer than 90 %, or where anything departs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import model_faults
import planting
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

SHARE = 0.9
# What is replaced in a model of the zoo, so that its projections are cut otherwise.
REWRITTEN: Mapping[str, Sequence[tuple[str, str]]] = {
    "nanogpt": (
        (
            "        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)\n",
            "        maps = (nn.Linear(config.n_embd, config.n_embd, bias=config.bias) for _ in range(3))\n"
            "        self.split = nn.ModuleList(maps)\n",
        ),
        ("self.c_attn(x).split(self.n_embd, dim=2)", "(one(x) for one in self.split)"),
    ),
    "cohere_olmo2": (
        (
            "self.wqkv, self.wo = nn.Linear(d, 3 * d, bias=False), ",
            "self.wq, self.wkv, self.wo = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d, bias=False), ",
        ),
        ("self.wqkv(x).chunk(3, -1)", "(self.wq(x), *self.wkv(x).chunk(2, -1))"),
        ("(d, 72), (d, 72), (72, d)", "(d, 144), (1, 1), (72, d)"),
        ("F.silu(self.gate(x)) * self.up(x)", "F.silu(self.gate(x)[..., 72:]) * self.gate(x)[..., :72]"),
    ),
    "matrices_gpt": (
        (
            "self.wq, self.wk, self.wv, self.wo = (Weights(e, e) for _ in range(4))",
            "self.wqkv, self.wo = Weights(e, 3 * e), Weights(e, e)",
        ),
        (
            "self.fold(self.wq(y)), self.fold(self.wk(y)), self.fold(self.wv(y))",
            "(self.fold(t) for t in self.wqkv(y).chunk(3, -1))",
        ),
    ),
    "mup_granite": (
        (
            "self.w12, self.w3 = nn.Linear(d, 2 * 70, bias=False), ",
            "self.w1, self.w2, self.w3 = nn.Linear(d, 70, bias=False), nn.Linear(d, 70, bias=False), ",
        ),
        (
            "x1, x2 = self.w12(self.post_attention_layernorm(x)).chunk(2, dim=-1)",
            "y = self.post_attention_layernorm(x)\n        x1, x2 = self.w1(y), self.w2(y)",
        ),
    ),
    "vit": (
        (
            "self.qkv = nn.Linear(dim, dim * 3, bias=True)",
            "self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)",
        ),
        ("self.qkv(x).reshape", "torch.cat((self.q(x), self.kv(x)), dim=-1).reshape"),
    ),
    "palm_fused": (
        (
            "        self.fused_attn_ff_proj = nn.Linear(dim, sum(self.fused_dims), bias=False)\n",
            "        self.first = nn.Linear(dim, sum(self.fused_dims[:3]), bias=False)\n"
            "        self.second = nn.Linear(dim, self.fused_dims[3], bias=False)\n",
        ),
        (
            "self.fused_attn_ff_proj(x).split(self.fused_dims, dim=-1)",
            "(*self.first(x).split(self.fused_dims[:3], dim=-1), self.second(x))",
        ),
    ),
}


@dataclass(frozen=True)
class Compared:
    """One model at one seed: how it was changed, whether the same was found, and what departs."""

    model: str
    change: str
    same: bool
    departures: tuple[str, ...]


def renamed(trace: Trace, seed: int) -> Trace:
    """Return the record with every module and parameter called something else, each alike everywhere."""
    names = _Names(seed)
    values = tuple(
        replace(one, name=names.of_parameter(one.name), aliases=tuple(map(names.of_parameter, one.aliases)))
        if one.origin in ("parameter", "buffer")
        else one
        for one in trace.values
    )
    steps = tuple(replace(step, module=names.of_module(step.module)) for step in trace.steps)
    modules = {names.of_module(path): kind for path, kind in trace.modules.items()}
    opaque = {names.of_module(path): why for path, why in trace.opaque.items()}
    return replace(trace, values=values, steps=steps, modules=modules, opaque=opaque)


class _Names:
    """New names for the pieces of paths. A number in a name says nothing of the place of a layer."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng([seed, 20])
        self._known: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of_module(self, path: str) -> str:
        """Return the new path of a module."""
        pieces = path.split(".") if path else []
        return ".".join(self._new("m", ".".join(pieces[: end + 1])) for end in range(len(pieces)))

    def of_parameter(self, path: str) -> str:
        """Return the new path of a parameter."""
        module, dot, _ = path.rpartition(".")
        return self.of_module(module) + dot + self._new("p", path)

    def _new(self, letter: str, path: str) -> str:
        if (letter, path) not in self._known:
            free = (f"{letter}{number}" for number in iter(lambda: int(self._generator.integers(10**6)), None))
            name = next(one for one in free if one not in self._taken)
            self._taken.add(name)
            self._known[letter, path] = name
        return self._known[letter, path]


def signature(found: Recognition) -> list[tuple[object, ...]]:
    """Return the roles and conventions of the parts, in order, without any name."""
    return [(part.role, part.layer, tuple(sorted(part.conventions.items())), part.status) for part in found.parts]


def compared(model: str, change: str, before: Recognition, after: Recognition) -> Compared:
    """Return whether two recognitions are the same but for names."""
    departures = tuple(f"{one.step}: {one.sentence}" for one in after.departures)
    return Compared(model, change, signature(before) == signature(after), departures)


def every(globs: Sequence[str], seeds: Sequence[int]) -> Iterator[Compared]:
    """Yield each chosen model, renamed, and those that are rewritten as well."""
    for name, build in model_faults._correct_models(("torch",)):
        if not any(fnmatchcase(name, glob) for glob in globs):
            continue
        for seed in seeds:
            trace = model_faults.traced(*build(), seed)
            before = recognise(trace)
            yield compared(name, "renamed", before, recognise(renamed(trace, seed)))
            if name in REWRITTEN:
                yield compared(name, "split or fused", before, recognise(renamed(rewritten(name, seed), seed)))


def rewritten(name: str, seed: int) -> Trace:
    """Return the record of a model of the zoo whose projections are cut otherwise; ValueError where it has changed."""
    text = planting.source(name)
    for old, new in REWRITTEN[name]:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times in {name}; it must once")
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        module = planting.imported(path)
        return model_faults.traced(planting.built(module), planting.zoo_inputs(module), seed)


def main(words: Sequence[str] | None = None) -> int:
    """Print the table, and the models that are found to be something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=["*"], help="globs of the models' names")
    parser.add_argument("--seeds", type=model_faults._seeds, default=[0], help="one seed, or a range such as 0-2")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    results = list(every(options.models, options.seeds))
    print("| change | runs | the same is found | departures |\n|" + " --- |" * 4)
    for change in dict.fromkeys(one.change for one in results):
        some = [one for one in results if one.change == change]
        departures = sum(len(one.departures) for one in some)
        print(f"| {change} | {len(some)} | {sum(one.same for one in some)} | {departures} |")
    for one in results:
        if not one.same or one.departures:
            print(f"- {one.model}, {one.change}: {'; '.join(one.departures) or 'something else is found'}")
    good = sum(one.same for one in results) >= SHARE * len(results) and not any(one.departures for one in results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
