"""Change derivations in one place each, and count which changes their own checks notice.

A number becomes one larger, a sum a difference, a product a quotient; a sign is dropped; sin and cos, exp and log swap.
A change is killed where the module cannot be loaded any more or a step that it alters does not hold; it survives where
altered steps all hold. A change that alters no step is counted apart: it changes nothing that is proved.

    python benchmarks/derivation_mutations.py                      all derivations
    python benchmarks/derivation_mutations.py softmax --limit 5    one, at most five seconds of the processor for a step
"""

from __future__ import annotations

import argparse
import ast
import copy
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

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
    module: ast.Module


@dataclass(frozen=True)
class Outcome:
    """What the checks made of a change: `killed`, `survived`, or `unused` where no step is another one."""

    mutation: Mutation
    verdict: str
    detail: str = ""


def mutations(derivation: str) -> Iterator[Mutation]:
    """Every change of a derivation's module, one at a time."""
    source = Path(import_module(f"veriformer.spec.derivations.{derivation}").__file__ or "").read_text("utf-8")
    tree = ast.parse(source)
    words = _words(tree)
    for place, node in enumerate(ast.walk(tree)):
        if node not in words:
            for told, change in _changes(node):
                altered = copy.deepcopy(tree)
                change(next(other for number, other in enumerate(ast.walk(altered)) if number == place))
                yield Mutation(derivation, getattr(node, "lineno", 0), told, ast.fix_missing_locations(altered))


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
    return Outcome(mutation, "survived", "; ".join(step.name for step in altered))


def _loaded(mutation: Mutation) -> Derivation:
    name = f"veriformer.spec.derivations.{mutation.derivation}"
    module = types.ModuleType(f"{name}_mutated")
    sys.modules[module.__name__] = module
    try:
        exec(compile(mutation.module, name, "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    derivation: Derivation = module.__dict__["DERIVATION"]
    return derivation


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
    total = {"killed": 0, "survived": 0, "unused": 0}
    for derivation in options.derivations:
        counts = dict.fromkeys(total, 0)
        for mutation in mutations(derivation):
            outcome = judged(mutation, options.limit)
            counts[outcome.verdict] += 1
            if outcome.verdict == "survived":
                print(f"  {derivation}.py:{mutation.line}  {mutation.told}  ({outcome.detail})", flush=True)
        print(f"{derivation}: {counts['killed']} of {sum(counts.values())} changes killed", flush=True)
        total = {verdict: number + counts[verdict] for verdict, number in total.items()}
    print(", ".join(f"{number} {verdict}" for verdict, number in total.items()))
    return 1 if total["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
