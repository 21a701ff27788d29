"""The benchmark of changed derivations: what survived once is killed, and what survives is told."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest
from veriformer.spec import derivations

# What stands in the changed line, and the change: of each of them every step held before.
SURVIVORS = (
    ("rotary", "inside = KroneckerDelta(row, column) * cos(angle) + (row - column) * sin(angle)", "Sub → Add"),
    ("rotary", "inside = KroneckerDelta(row, column) * cos(angle) + (row - column) * sin(angle)", "cos → sin"),
    ("rotary", "PAIRS: Range = (Integer(0), pairs_count - 1)", "Sub → Add"),
    ("alibi", "return Integer(2) ** (-(8 * (head + 1) / count))", "8 → 9"),
    ("masking", "blocks=(Block(keep, (None, KEPT_KEYS), 1), Block(keep, (None, MASKED_KEYS), 0)),", "1 → 2"),
    ("saturation", "return (n - 1) * exp(-spread * gap)", "Sub → Add"),
    ("grouped_query", "Context(parametrisation={group_size: 2 + slack}),", "2 → 3"),
    ("variance_scaling", "SKEWED = ((-1.0, 0.75), (3.0, 0.25))", "3.0 → 4.0"),
    ("variance_scaling", "SKEWED = ((-1.0, 0.75), (3.0, 0.25))", "− dropped"),
    ("residual", "pre_norm(i, lambda m: x[m] + shift),", "Add → Sub"),
    ("residual", "return own + branch", "Add → Sub"),
    ("cost", "Integer(65_000_000),", "65000000 → 65000001"),
    ("sinusoid_relative_position", "written(lambda: correlation(-shift)),", "− dropped"),
    ("softmax", "quadratic_form(lambda r, s: P[r] * P[s] * (direction[r] - direction[s]) ** 2) / 2,", "2 → 3"),
)


def changes(benchmark: ModuleType, derivation: str, line: str, told: str) -> list[object]:
    source = Path(derivations.__file__).with_name(f"{derivation}.py").read_text("utf-8").splitlines()
    places = {number for number, text in enumerate(source, 1) if text.strip() == line}
    assert places, f"{derivation}.py has no line {line!r} any more"
    return [one for one in benchmark.mutations(derivation) if one.line in places and one.told == told]


@pytest.mark.parametrize(("derivation", "line", "told"), SURVIVORS)
def test_what_survived_once_is_killed(benchmark: ModuleType, derivation: str, line: str, told: str) -> None:
    found = changes(benchmark, derivation, line, told)
    assert found
    assert {benchmark.judged(one, limit=20.0).verdict for one in found} == {"killed"}


def test_what_is_listed_as_equivalent_is_a_change_that_is_made(benchmark: ModuleType) -> None:
    for (derivation, line, told), reason in benchmark.equivalents().items():
        assert changes(benchmark, derivation, line, told)
        assert reason.endswith(".")


def test_what_is_listed_as_equivalent_is_counted_apart(benchmark: ModuleType) -> None:
    (one,) = changes(benchmark, "softmax", "weights(lambda m: x[m] + shift, ROW)(i),", "Add → Sub")
    outcome = benchmark.judged(one, limit=20.0)
    assert outcome.verdict == "equivalent"
    assert "any real number" in outcome.detail


def test_another_definition_than_the_reference_is_killed(benchmark: ModuleType) -> None:
    found = changes(benchmark, "rotary", "return ImmutableMatrix([vector[which, 0], vector[which, 1]])", "0 → 1")
    (outcome,) = [benchmark.judged(one, limit=20.0) for one in found]
    assert (outcome.verdict, outcome.detail) == ("killed", "The gradient is turned back")


def test_a_change_that_alters_nothing_is_no_survivor(benchmark: ModuleType) -> None:
    unchanged = next(iter(benchmark.mutations("inner_products")))
    source = Path(derivations.__file__).with_name("inner_products.py").read_text("utf-8")
    same = benchmark.Mutation("inner_products", unchanged.line, "nothing", lambda: benchmark.ast.parse(source))
    assert benchmark.judged(same, limit=20.0).verdict == "unused"


def test_a_change_of_both_sides_alike_survives_and_is_told(benchmark: ModuleType) -> None:
    source = Path(derivations.__file__).with_name("inner_products.py").read_text("utf-8")
    renamed = source.replace('array("Q")', 'array("Q_other")').replace('array("K")', 'array("K_other")')
    assert renamed != source
    outcome = benchmark.judged(
        benchmark.Mutation("inner_products", 1, "renamed", lambda: benchmark.ast.parse(renamed)), 20.0
    )
    assert outcome.verdict == "survived"
    assert outcome.detail


def test_words_are_not_changed(benchmark: ModuleType) -> None:
    def words(module: ast.Module) -> list[object]:
        said = [node for node in ast.walk(module) if isinstance(node, ast.keyword) and node.arg in ("why", "title")]
        return [ast.get_docstring(module), *(ast.unparse(node) for node in said)]

    right = ast.parse(Path(derivations.__file__).with_name("inner_products.py").read_text("utf-8"))
    found = list(benchmark.mutations("inner_products"))
    assert found
    assert len(words(right)) == 2
    assert all(words(one.module) == words(right) for one in found)
