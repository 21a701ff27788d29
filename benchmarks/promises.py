"""Whether a ✓ keeps its promise: each part that `veriformer check` marks with one is broken, and checked again.

    python benchmarks/promises.py [MODEL GLOB ...] [--every-part] [--jobs 2] [--json FILE]
    python benchmarks/promises.py --all [--json FILE]

The models are those of the zoo in `models/zoo` that are written in PyTorch, and the architectures of transformers in
their tiny configurations. Each is recognised once, as `veriformer check` does it, without the laws. Then every part
with a ✓ gets each mistake of `models/breaks.py` that applies to it, one at a time and while the model runs: mistakes
of code at the size of real ones (a scale, a sign, the order of heads, a shift by one position, a mask by one, a norm
left out, another layer's module), since with other weights a model is right. A mistake that does not change the
outputs, or with which the model does not run, is none and not counted. What is said of the others counts once, as the
first of these that holds:

- departs: something departs that did not before;
- stated: layers are said to differ, or parameters to be unused, that were not before;
- no longer judged: a part that had a ✓ has none any more;
- still ✓: nothing of all this, which is a broken promise.

It is in the right part where the first departure, a difference, an unused parameter or a lost ✓ is in the part, inside
it or directly around it. Of two layers that are said to differ, both are named, and either will do.

By default a selection of models, and of each model one part of each kind: some ten minutes on two cores. A glob is one
of a model type, of a name in the zoo, or of a whole name such as gpt2/GPT2LMHeadModel. `--all` takes all models and
all parts. Prints a table by mistake, one by kind of part, and each broken promise. Exit status 1 where fewer than 97 %
are caught, fewer than 90 % in the right part, or the recognition itself fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parent / "models"))

import architectures
import planting
from breaking import Break, broken
from breaks import breaks_of, sites
from model_faults import framework_of, is_near
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError, NotAModel
from veriformer.adapters.whole_models.session import Session, opened
from veriformer.conformance_tests.recognition.findings import Part, Recognition
from veriformer.conformance_tests.run.checking_models import recognised_in

Said = Literal["departs", "stated", "no longer judged", "still ✓", "no change", "does not run", "error"]
COUNTED: tuple[Said, ...] = ("departs", "stated", "no longer judged", "still ✓", "error")
# The shares to reach: caught, and caught in the right part.
CAUGHT, LOCATED = 0.97, 0.90
SELECTION = (
    *("nanogpt", "llama_by_hand", "bert_by_hand", "einsum_gpt", "gptj_like", "t5_like", "moe_scatter", "bloom_like"),
    *("gpt2/GPT2LMHeadModel", "llama/LlamaForCausalLM", "bert/BertModel", "t5/T5ForConditionalGeneration"),
    *("qwen3/Qwen3ForCausalLM", "mixtral/MixtralForCausalLM", "gemma2/Gemma2ForCausalLM", "vit/ViTModel"),
    *("gpt_neox/GPTNeoXForCausalLM", "whisper/WhisperForConditionalGeneration"),
)
_SEED = 0
# A smaller change of the outputs is rounding.
_LEAST = 1e-6
_SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """What is said of one mistake in one part; `detail` is the sentence, or the error."""

    model: str
    path: str
    role: str
    mistake: str
    said: Said
    in_right_part: bool = False
    detail: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is a mistake at all: the model ran, and gave something else."""
        return self.said in COUNTED

    @property
    def caught(self) -> bool:
        """Whether the user is told in any way."""
        return self.said in ("departs", "stated", "no longer judged")


def names() -> list[str]:
    """Return the names of all models, those of the zoo first."""
    zoo = [name for name in planting.models() if framework_of(name) == "torch"]
    return [*zoo, *(f"{kind}/{name}" for kind, name in architectures.chosen(["*"], tuple(architectures.CLASSES)))]


def chosen(globs: Sequence[str]) -> list[str]:
    """Return the names that the globs choose: whole names, or model types."""
    every = names()
    return [
        one for one in every if any(fnmatchcase(one, glob) or fnmatchcase(one.split("/")[0], glob) for glob in globs)
    ]


class Subject:
    """A model that is checked as it is, and again with mistakes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: Any = None
        kind, _, builder = name.partition("/")
        if builder:
            self.model = architectures.built(kind, builder)
        else:
            module = planting.imported(kind)
            self.model = planting.built(module).eval()
            self._inputs = planting.zoo_inputs(module) if hasattr(module, "inputs") else None

    @contextmanager
    def _session(self) -> Iterator[Session]:
        if self._inputs is None:
            with architectures.session_of(self.model) as session:
                yield session
            return
        with opened(self.model, self._inputs, seed=_SEED) as session:
            yield session

    def checked(self) -> tuple[Trace, Recognition]:
        """Return the record of a pass of the model, and what it was recognised as."""
        with self._session() as session:
            return session.trace, recognised_in(session, _SEED)[0]

    def trials(self, *, every_part: bool) -> Iterator[Trial]:
        """Yield what is said of each mistake in the parts that hold, or in one of each kind."""
        trace, right = self.checked()
        found = sites(self.model, trace, right.parts)
        for site in found if every_part else _one_of_each(self.name, found):
            for mistake in breaks_of(site):
                yield self._trial(site.part, mistake, trace, right)

    def _trial(self, part: Part, mistake: Break, before: Trace, right: Recognition) -> Trial:
        def trial(said: Said, *, in_right_part: bool = False, detail: str = "") -> Trial:
            return Trial(self.name, part.path, part.role, mistake.name, said, in_right_part, detail)

        try:
            with architectures.limited(_SECONDS), broken(self.model, mistake):
                trace, found = self.checked()
        except (CaptureError, NotAModel, architectures.OutOfTime) as error:
            return trial("does not run", detail=str(error)[:200])
        except Exception as error:  # the recognition may raise nothing; what the model raises is a CaptureError
            last = traceback.extract_tb(error.__traceback__)[-1]
            return trial("error", detail=f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})")
        if not _differ(before, trace):
            return trial("no change")
        said, near, detail = judged((part.path, mistake.where), right, found)
        return trial(said, in_right_part=near, detail=detail)


def _one_of_each(name: str, found: Sequence[Any]) -> Iterator[Any]:
    """Yield one site of each role; which layer it is of depends on the model, so that all of them occur."""
    for role in dict.fromkeys(one.part.role for one in found):
        same = [one for one in found if one.part.role == role]
        yield same[zlib.crc32(f"{name} {role}".encode()) % len(same)]


def _differ(before: Trace, after: Trace) -> bool:
    """Return whether the first floating-point results of two passes are different ones."""
    one, other = _result(before), _result(after)
    if one is None or other is None or one.shape != other.shape:
        return True
    scale = np.abs(one).max() or 1.0
    return not bool((np.abs(one - other) <= _LEAST * scale).all())


def _result(trace: Trace) -> planting.Array | None:
    arrays = (trace.values[value].array for value in trace.outputs)
    return next((array for array in arrays if array.dtype.kind == "f"), None)


def judged(places: Sequence[str], right: Recognition, found: Recognition) -> tuple[Said, bool, str]:
    """Return what is said of a broken model that was not said of the right one, whether there, and the words."""
    known = {(one.path, one.sentence) for one in right.departures}
    departures = [one for one in found.departures if (one.path, one.sentence) not in known]
    if departures:
        first = departures[0]
        return "departs", _near(first.path, places), f"{first.path}, {first.step}: {first.sentence}"
    stated = _stated(right, found)
    if stated:
        near = [paths for paths in stated if any(_near(path, places) for path in paths)]
        return "stated", bool(near), ", ".join((near or stated)[0])
    lost = _held(right) - _held(found)
    if lost:
        near_parts = [path for path, _, _ in lost if _near(path, places)]
        return "no longer judged", bool(near_parts), ", ".join(sorted({path for path, _, _ in lost}))
    return "still ✓", False, ""


def _near(path: str, places: Sequence[str]) -> bool:
    return any(is_near(path, place) for place in places)


def _stated(right: Recognition, found: Recognition) -> list[tuple[str, ...]]:
    """Return the paths of each thing that is said of layers or parameters now, and was not before."""
    known = {one.as_departure.sentence for one in right.differences}
    differences = [one for one in found.differences if one.as_departure.sentence not in known]
    paths = [
        # Of two layers, nothing tells which is as it should be.
        (one.as_departure.path, *(path for path, _ in one.others if len(one.others) == 1))
        for one in differences
    ]
    return [*paths, *((name.rpartition(".")[0],) for name in found.unused if name not in right.unused)]


def _held(recognition: Recognition) -> set[tuple[str, str, int | None]]:
    return {(one.path, one.role, one.layer) for one in recognition.parts if one.status == "holds"}


def trials_of(name: str, every_part: bool) -> list[Trial]:
    """Return what is said of all mistakes in a model; one trial with the reason where it cannot be checked."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        return list(Subject(name).trials(every_part=every_part))
    except Exception as error:  # whatever a class of transformers raises
        return [Trial(name, "", "", "", "does not run", detail=f"{type(error).__name__}: {str(error)[:200]}")]


def table(title: str, groups: Iterable[tuple[str, Sequence[Trial]]]) -> str:
    """Return a table with a row for each group of trials."""
    lines = [
        f"| {title} | mistakes | {' | '.join(COUNTED[:4])} | caught, % | in the right part, % |",
        "|" + " --- |" * 8,
    ]
    for name, some in groups:
        counts = [sum(one.said == said for one in some) for said in COUNTED[:4]]
        caught, located = share(some, caught=True), share(some, caught=False)
        lines.append(
            f"| {name} | {len(some)} | {' | '.join(map(str, counts))} | {100 * caught:.1f} | {100 * located:.1f} |"
        )
    return "\n".join(lines)


def share(some: Sequence[Trial], *, caught: bool) -> float:
    """Return the share of the mistakes that are caught, or else in the right part."""
    return sum(one.caught if caught else one.in_right_part for one in some) / len(some) if some else 1.0


def _grouped(trials: Sequence[Trial], by: str) -> list[tuple[str, list[Trial]]]:
    values = sorted({getattr(one, by) for one in trials})
    return [(value, [one for one in trials if getattr(one, by) == value]) for value in values]


def print_trials(trials: Sequence[Trial]) -> None:
    """Print the tables, and each promise that was broken or kept in another part only."""
    counted = [one for one in trials if one.counts]
    print(table("mistake", [*_grouped(counted, "mistake"), ("all", counted)]), end="\n\n")
    print(table("part", [*_grouped(counted, "role"), ("all", counted)]))
    for title, some in (
        ("Broken promises", [one for one in counted if one.said == "still ✓"]),
        ("Errors of the recognition", [one for one in counted if one.said == "error"]),
        ("In another part", [one for one in counted if one.caught and not one.in_right_part]),
        ("Models that were not checked", [one for one in trials if not one.mistake]),
    ):
        print(f"\n{title}:\n" if some else "", end="")
        for one in some:
            print(f"- {one.model}, `{one.path}` ({one.role}), {one.mistake}; {one.said}: {one.detail}")
    left, models = len([one for one in trials if one.mistake]) - len(counted), len({one.model for one in counted})
    print(f"\n{len(counted)} mistakes in {models} models; {left} more change nothing or do not run")


def reaches_aims(trials: Sequence[Trial]) -> bool:
    """Return whether enough of the mistakes are caught, and in the right part, and the recognition never fails."""
    counted = [one for one in trials if one.counts]
    failed = any(one.said == "error" for one in counted)
    return not failed and share(counted, caught=True) >= CAUGHT and share(counted, caught=False) >= LOCATED


def main(words: Sequence[str] | None = None) -> int:
    """Break the parts of the models, and print what is said of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", help="globs of model types, or of names of the zoo")
    parser.add_argument("--all", action="store_true", help="all models, and all of their parts")
    parser.add_argument("--every-part", action="store_true", help="all parts, not one of each kind in a model")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="a file for the outcomes, written after each model")
    options = parser.parse_args(words)
    started = time.monotonic()
    todo = names() if options.all else chosen(options.models or SELECTION)
    if not todo:
        parser.error(f"no model is called {' or '.join(options.models)}")
    trials: list[Trial] = []
    for some in _all_trials(todo, options.every_part or options.all, options.jobs):
        trials += some
        if options.json:
            text = json.dumps([asdict(one) for one in trials], indent=1, ensure_ascii=False)
            options.json.write_text(text, encoding="utf-8")
    trials.sort(key=lambda one: todo.index(one.model))
    print_trials(trials)
    print(f"{time.monotonic() - started:.0f} seconds")
    return 0 if reaches_aims(trials) else 1


def _all_trials(todo: Sequence[str], every_part: bool, jobs: int) -> Iterator[list[Trial]]:
    if jobs == 1:
        yield from (trials_of(name, every_part) for name in todo)
        return
    # A process for each model: what one leaves behind slows the next.
    with ProcessPoolExecutor(jobs, max_tasks_per_child=4) as pool:
        for done in as_completed([pool.submit(trials_of, name, every_part) for name in todo]):
            yield done.result()


if __name__ == "__main__":
    sys.exit(main())
