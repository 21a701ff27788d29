"""How often a mistake in a whole model is found, and whether a model without one is ever accused.

    python benchmarks/model_faults.py [MODEL GLOB ...] [--frameworks torch jax ...] [--seeds 0-2]
    python benchmarks/model_faults.py --correct [MODEL GLOB ...] [--frameworks torch jax ...] [--seeds 0-2]

The faults are those of `models/faults.toml`, one at a time. Each changed model is run once, with parameters drawn anew,
and its forward pass is recognised. What counts is the first departure, or where there is none the first layer that
is said to differ from others: whether there is one; whether it is in the right
part, which is the module that the fault names, inside it or directly around it; whether its step of the specification
is right; and, of the faults with a slug of the catalogue, whether the first suspect is that mistake. Prints a table,
and below it what was not found or found to be something else. Changes after which a program is a correct model of
another kind (`convention = true`) are counted apart. Exit status 1 where fewer than 97 % are
caught, the first departure is in the right part and step for fewer than 95 %, or fewer than 85 % are named first.

With `--correct`, the models of the zoo and those of Hugging Face are recognised unchanged: the smallest shares over the
seeds, and the departures, of which there must be none, else the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

# An import of Keras reads it.
os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path.insert(0, str(Path(__file__).parent / "models"))

import planting
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.findings import Departure, Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

FRAMEWORKS = ("torch", "keras", "flax", "equinox", "jax")
# The shares to reach: caught, first in the right part and step, named first.
CAUGHT, LOCATED, NAMED = 0.97, 0.95, 0.85
_CUT = 90


@dataclass(frozen=True)
class Outcome:
    """What was said of one fault at one seed: the first departure, None where there is none; or what was raised.

    It is `only_stated` where nothing departs, and layers are said to differ: the first difference stands for it.
    """

    fault: planting.Fault
    seed: int
    first: Departure | None
    error: str = ""
    only_stated: bool = False

    @property
    def caught(self) -> bool:
        """Whether anything departs, or layers are said to differ."""
        return self.first is not None

    @property
    def in_right_part(self) -> bool:
        """Whether the first departure is where the fault is."""
        return self.first is not None and is_near(self.first.path, self.fault.part)

    @property
    def at_right_step(self) -> bool:
        """Whether the first departure is in the step of the specification where the fault is."""
        return self.first is not None and self.first.step == self.fault.step

    @property
    def named_first(self) -> bool:
        """Whether the first suspect is the mistake that was planted."""
        return (
            self.first is not None and bool(self.first.suspects) and self.first.suspects[0].name == self.fault.mistake
        )

    @property
    def complaint(self) -> str:
        """What is wrong with the answer; "" where nothing is."""
        if self.first is None:
            return self.error or "not caught"
        wrong = []
        if not self.in_right_part:
            wrong.append(f"in `{self.first.path}`, not `{self.fault.part}`")
        if not self.at_right_step:
            wrong.append(f"step {self.first.step}, not {self.fault.step}")
        if self.fault.mistake and not self.named_first:
            given = f"`{self.first.suspects[0].name}`" if self.first.suspects else "nothing"
            wrong.append(f"named {given}, not `{self.fault.mistake}`")
        return "; ".join(wrong)


@dataclass(frozen=True)
class Unchanged:
    """What was said of a model without a fault at one seed."""

    model: str
    found: float
    understood: float
    departures: tuple[Departure, ...]
    error: str = ""


def is_near(path: str, part: str) -> bool:
    """Return whether a path of modules is a part, inside it, or directly around it.

    What belongs to no module ("") is near to itself, and to the modules of the model, but not to those inside them.
    """
    if path in (part, around(part)):
        return True
    return path.startswith(f"{part}.") if part else "." not in path


def around(part: str) -> str:
    """Return the module directly around a part. A list of modules, as that of `heads.0`, is no module of its own."""
    outer, _, last = part.rpartition(".")
    return outer.rpartition(".")[0] if last.isdigit() else outer


def framework_of(model: str) -> str:
    """Return the framework that a model of the zoo is written in."""
    text = planting.source(model)
    return next(one for one in FRAMEWORKS if re.search(rf"^(?:import|from) {one}\b", text, re.MULTILINE))


def recognised(model: Any, inputs: planting.Inputs, seed: int) -> Recognition:
    """Return what a model is found to be, on some inputs, with parameters drawn anew from the seed."""
    return recognise(traced(model, inputs, seed))


def traced(model: Any, inputs: planting.Inputs, seed: int) -> Trace:
    """Return the record of one forward pass."""
    keywords = dict(inputs) if isinstance(inputs, dict) else {}
    arguments = inputs if isinstance(inputs, tuple) else () if isinstance(inputs, dict) else (inputs,)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        from veriformer.adapters.capture.jax import capture as capture_in_jax  # an import of a framework is slow

        return capture_in_jax(model, arguments, keywords, seed=seed)
    from veriformer.adapters.capture.torch import capture as capture_in_torch
    from veriformer.adapters.capture.torch_models import eagerly

    tensors = {name: torch.as_tensor(array) for name, array in keywords.items()}
    with eagerly(model):
        return capture_in_torch(model, tuple(map(torch.as_tensor, arguments)), tensors, seed=seed)


def outcome(fault: planting.Fault, seed: int) -> Outcome:
    """Return what is said of a fault."""
    try:
        with planting.planted(fault) as path:
            module = planting.imported(path)
            found = recognised(planting.built(module), planting.zoo_inputs(module), seed)
    except Exception as error:  # whatever a changed program raises, or the recognition itself, belongs in the table
        return Outcome(fault, seed, None, _told(error))
    finally:
        _forget_what_was_compiled()
    stated = [one.as_departure for one in found.differences]
    first = next(iter([*found.departures, *stated]), None)
    return Outcome(fault, seed, first, only_stated=not found.departures and bool(stated))


def unchanged(globs: Sequence[str], frameworks: Sequence[str], seeds: Sequence[int]) -> Iterator[Unchanged]:
    """Yield what is said of the models that the globs choose."""
    for name, build in _correct_models(frameworks):
        if not any(fnmatchcase(name, glob) for glob in globs):
            continue
        for seed in seeds:
            try:
                found = recognised(*build(), seed)
                yield Unchanged(name, found.share_found, found.share_understood, found.departures)
            except Exception as error:  # as above
                yield Unchanged(name, 0.0, 0.0, (), _told(error))
            finally:
                _forget_what_was_compiled()


Builder = Callable[[], tuple[Any, planting.Inputs]]


def _correct_models(frameworks: Sequence[str]) -> Iterator[tuple[str, Builder]]:
    for name in planting.models():
        if framework_of(name) in frameworks:
            yield name, _of_zoo(name)
    if "torch" in frameworks:
        import huggingface

        for name, model in huggingface.MODELS.items():
            for attention in model.attentions:
                yield f"transformers {name} {attention}", _of_transformers(model, attention)


def _of_zoo(name: str) -> Builder:
    def build() -> tuple[Any, planting.Inputs]:
        module = planting.imported(name)
        return planting.built(module), planting.zoo_inputs(module)

    return build


def _of_transformers(model: Any, attention: str) -> Builder:
    return lambda: (model.build(attention), model.inputs())


def _told(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:_CUT]} ({Path(last.filename).name}:{last.lineno})"


def _forget_what_was_compiled() -> None:
    # Every model is compiled for itself; hundreds of them together fill the memory.
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return one row of the table of faults."""
    with_slug = [one for one in outcomes if one.fault.mistake]
    counts = (
        len(outcomes),
        sum(one.caught for one in outcomes),
        sum(one.only_stated for one in outcomes),
        sum(one.in_right_part for one in outcomes),
        sum(one.at_right_step for one in outcomes),
        sum(one.in_right_part and one.at_right_step for one in outcomes),
    )
    named = f"{sum(one.named_first for one in with_slug)} of {len(with_slug)}"
    return f"| {name} | " + " | ".join(map(str, counts)) + f" | {named} |"


def print_faults(outcomes: Sequence[Outcome]) -> None:
    """Print the table, and what was not found or found to be something else."""
    mistakes = [one for one in outcomes if not one.fault.convention]
    print("\n| model | faults | caught | of them stated | in the right part | at the right step | both | named first |")
    print("|" + " --- |" * 8)
    for model in dict.fromkeys(one.fault.model for one in mistakes):
        print(row(model, [one for one in mistakes if one.fault.model == model]))
    print(row("all", mistakes))
    conventions = [one for one in outcomes if one.fault.convention]
    if conventions:
        print(row("conventions of other models", conventions))
    for title, chosen in (
        ("Not caught", [one for one in mistakes if not one.caught]),
        ("Found to be something else", [one for one in mistakes if one.caught and one.complaint]),
        ("Conventions of other models, not caught", [one for one in conventions if not one.caught]),
        ("Conventions of other models, something else", [one for one in conventions if one.caught and one.complaint]),
    ):
        if chosen:
            print(f"\n{title}:\n")
        for one in chosen:
            print(f"- seed {one.seed}, {one.fault}\n    {one.complaint}")


def reaches_aims(outcomes: Sequence[Outcome]) -> bool:
    """Return whether enough faults are caught, located and named."""
    with_slug = [one for one in outcomes if one.fault.mistake]
    located = sum(one.in_right_part and one.at_right_step for one in outcomes)
    return (
        sum(one.caught for one in outcomes) >= CAUGHT * len(outcomes)
        and located >= LOCATED * len(outcomes)
        and sum(one.named_first for one in with_slug) >= NAMED * len(with_slug)
    )


def print_correct(results: Sequence[Unchanged]) -> None:
    """Print the table of models without a fault, and what they are accused of."""
    print("\n| model | seeds | intermediates found | steps understood | departures |\n|" + " --- |" * 5)
    for model in dict.fromkeys(one.model for one in results):
        same = [one for one in results if one.model == model]
        found, understood = min(one.found for one in same), min(one.understood for one in same)
        departures = sum(len(one.departures) for one in same)
        print(f"| {model} | {len(same)} | {100 * found:.0f} % | {100 * understood:.0f} % | {departures} |")
    for one in results:
        for departure in one.departures:
            print(f"- {one.model}: `{departure.path}`, {departure.step}: {departure.sentence}")
        if one.error:
            print(f"- {one.model}: {one.error}")


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(words: Sequence[str] | None = None) -> int:
    """Print the table of faults, or that of models without one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=["*"], help="globs of the models' names")
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--seeds", type=_seeds, default=[0], help="one seed, or a range such as 0-2")
    parser.add_argument("--correct", action="store_true", help="recognise the models without a fault")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if options.correct:
        results = list(unchanged(options.models, options.frameworks, options.seeds))
        if not results:
            parser.error(f"no model is called {' or '.join(options.models)} in {', '.join(options.frameworks)}")
        print_correct(results)
        return 1 if any(one.departures or one.error for one in results) else 0
    faults = [one for one in planting.faults(options.models) if framework_of(one.model) in options.frameworks]
    if not faults:
        parser.error(f"no fault of {' or '.join(options.models)} in {', '.join(options.frameworks)}")
    outcomes = [outcome(fault, seed) for fault in faults for seed in options.seeds]
    print_faults(outcomes)
    return 0 if reaches_aims([one for one in outcomes if not one.fault.convention]) else 1


if __name__ == "__main__":
    sys.exit(main())
