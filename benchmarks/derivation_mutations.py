"""Change derivations in one place each, and count which changes their own checks notice.

A number becomes one larger, a sum a difference, a product a quotient; a sign is dropped; sin and cos, exp and log swap.
A change is killed where the module cannot be loaded any more, a step that it alters does not hold, or a definition is
not that of the reference any more (`tests/spec/test_derivations_definitions.py`); it survives where altered steps all
hold. A change that alters no step is counted apart: it changes nothing that is proved. So is one that is listed in
`derivation_equivalents.toml` with the reason why the changed steps are true and say as much.

    python benchmarks/derivation_mutations.py                      all derivations
    python benchmarks/derivation_mutations.py softmax --limit 5    one, at most five seconds of the processor for a step
"""

from __future__ import annotations

import argparse
import ast
import copy
import sys
import tomllib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.derivations.derivation import Derivation, Step
from veriformer.spec.derivations.guard import OutOfTimeError, processor_limit

_SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_RENAMED = {"exp": "log", "sin": "cos", "cos": "sin"}
_WORDS = {"why", "title", "assumptions", "sources", "remarks", "reason_without_law", "id", "scope"}


@dataclass(frozen=True)
class Mutation:
    """One change of a derivation's module: where, and from what to what."""

    derivation: str
    line: int
    told: str
    build: Callable[[], ast.Module]

    @cached_property
    def module(self) -> ast.Module:
        """The changed module."""
        return self.build()


@dataclass(frozen=True)
class Outcome:
    """What the checks made of a change: `killed`, `survived`, `equivalent`, or `unused` where no step is altered."""

    mutation: Mutation
    verdict: str
    detail: str = ""


def mutations(derivation: str) -> Iterator[Mutation]:
    """Every change of a derivation's module, one at a time."""
    tree = ast.parse(_source(derivation))
    words = _words(tree)
    for place, node in enumerate(ast.walk(tree)):
        if node not in words:
            for told, change in _changes(node):
                build = partial(_changed, tree, place, change)
                yield Mutation(derivation, getattr(node, "lineno", 0), told, build)


def _changed(tree: ast.Module, place: int, change: Callable[[Any], None]) -> ast.Module:
    altered = copy.deepcopy(tree)
    change(next(other for number, other in enumerate(ast.walk(altered)) if number == place))
    return ast.fix_missing_locations(altered)


def judged(mutation: Mutation, limit: float) -> Outcome:
    """Load a changed derivation and check the steps that are other ones; stop at the first that does not hold."""
    original = import_module(f"veriformer.spec.derivations.{mutation.derivation}").DERIVATION
    try:
        with processor_limit(limit):
            changed = _loaded(mutation)
            altered = _altered_steps(original, changed)
    except OutOfTimeError:
        return Outcome(mutation, "killed", "not loaded within the limit")
    except Exception as error:
        return Outcome(mutation, "killed", f"not loaded: {type(error).__name__}")
    if not altered:
        return Outcome(mutation, "unused")
    for step in altered:
        if not step.check(limit).holds:
            return Outcome(mutation, "killed", step.name)
    if name := _other_than_the_reference(mutation):
        return Outcome(mutation, "killed", f"the definition of {name}")
    if reason := equivalents().get(key_of(mutation)):
        return Outcome(mutation, "equivalent", reason)
    return Outcome(mutation, "survived", "; ".join(step.name for step in altered))


@cache
def equivalents() -> dict[tuple[str, str, str], str]:
    """Why changes that survive are none: by derivation, changed line and change."""
    listed = tomllib.loads(Path(__file__).with_name("derivation_equivalents.toml").read_text("utf-8"))
    return {
        (derivation, line, change): entry["reason"]
        for derivation, entries in listed.items()
        for entry in entries
        for line in entry["lines"]
        for change in entry["changes"]
    }


def key_of(mutation: Mutation) -> tuple[str, str, str]:
    """How `equivalents` names a change."""
    return (mutation.derivation, _source(mutation.derivation).splitlines()[mutation.line - 1].strip(), mutation.told)


@cache
def _source(derivation: str) -> str:
    return Path(import_module(f"veriformer.spec.derivations.{derivation}").__file__ or "").read_text("utf-8")


def _other_than_the_reference(mutation: Mutation) -> str:
    """The first definition that the change makes another one than the reference's; empty where there is none."""
    original = import_module(f"veriformer.spec.derivations.{mutation.derivation}")
    kept = dict(vars(original))
    try:
        vars(original).update({name: value for name, value in _executed(mutation).items() if name[:2] != "__"})
        return next((name for name, values in _definitions().items() if not _agree(values)), "")
    finally:
        vars(original).clear()
        vars(original).update(kept)


@cache
def _definitions() -> dict[str, Callable[[], tuple[Any, Any]]]:
    path = Path(__file__).parents[1] / "tests" / "spec" / "test_derivations_definitions.py"
    specification = spec_from_file_location("definitions_of_derivations", path)
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return dict(module.DEFINITIONS)


def _agree(values: Callable[[], tuple[Any, Any]]) -> bool:
    try:
        own, right = values()
    except Exception:
        return False
    return bool(np.shape(own) == np.shape(right)) and bool(np.allclose(own, right, rtol=1e-10, atol=1e-12))


def _loaded(mutation: Mutation) -> Derivation:
    derivation: Derivation = _executed(mutation)["DERIVATION"]
    return derivation


def _executed(mutation: Mutation) -> dict[str, Any]:
    name = f"veriformer.spec.derivations.{mutation.derivation}"
    module = types.ModuleType(f"{name}_mutated")
    sys.modules[module.__name__] = module
    try:
        exec(compile(mutation.module, name, "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module.__dict__


def _altered_steps(original: Derivation, changed: Derivation) -> list[Step]:
    before = {step.name: _content(step) for step in original.steps}
    return [step for step in changed.steps if before.get(step.name) != _content(step)]


def _content(step: Step) -> str:
    """Everything of a step that is stated or assumed; definitions by what they stand for."""
    told = [f"{field.name}={getattr(step, field.name)}" for field in fields(step) if field.name not in {"why", "where"}]
    definitions = [f"{definition.left}:={definition.right}" for definition in step.where]
    return "\n".join([*told, *definitions, str(step.proved_left), str(step.proved_right)])


def _words(tree: ast.Module) -> set[ast.AST]:
    """Nodes that are words or types: annotations, imports, and arguments that say something in words."""
    left_out: list[ast.AST] = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in _WORDS:
            left_out.append(node)
        if isinstance(node, ast.FunctionDef):
            left_out += [argument.annotation for argument in node.args.args if argument.annotation]
            left_out += [node.returns] if node.returns else []
    return {inner for node in left_out for inner in ast.walk(node)}


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} → {node.value + 1}", lambda other: setattr(other, "value", other.value + 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        swapped = _SWAPPED[type(node.op)]
        told = f"{type(node.op).__name__} → {swapped.__name__}"
        yield told, lambda other: setattr(other, "op", swapped())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "− dropped", lambda other: setattr(other, "op", ast.UAdd())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _RENAMED:
        renamed = _RENAMED[node.func.id]
        yield f"{node.func.id} → {renamed}", lambda other: setattr(other.func, "id", renamed)


def main(arguments: list[str] | None = None) -> int:
    """Print what survived of every derivation, and how many were killed. Exit status 1 where a change survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("derivations", nargs="*", default=derivation_ids(), metavar="ID")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the processor for a step")
    options = parser.parse_args(arguments)
    total = {"killed": 0, "survived": 0, "equivalent": 0, "unused": 0}
    for derivation in options.derivations:
        counts = dict.fromkeys(total, 0)
        for mutation in mutations(derivation):
            outcome = judged(mutation, options.limit)
            counts[outcome.verdict] += 1
            if outcome.verdict == "survived":
                print(f"  {derivation}.py:{mutation.line}  {mutation.told}  ({outcome.detail})", flush=True)
        apart = f"{counts['equivalent']} equivalent, {counts['unused']} alter no step"
        print(f"{derivation}: {counts['killed']} of {sum(counts.values())} changes killed, {apart}", flush=True)
        total = {verdict: number + counts[verdict] for verdict, number in total.items()}
    print(", ".join(f"{number} {verdict}" for verdict, number in total.items()))
    return 1 if total["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
