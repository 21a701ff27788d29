"""`veriformer list`, `explain` and `derive`: everything that has a name can be read about."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result
from veriformer.cli.application import application
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES


def shown(*arguments: str) -> str:
    result: Result = CliRunner().invoke(application, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("operations", OPERATIONS),
        ("laws", LAWS),
        ("conventions", CONVENTIONS),
        ("derivations", derivation_ids()),
        ("examples", [example.id for example in WORKED_EXAMPLES]),
        ("implementations", ["numpy", "torch", "jax", "flax", "equinox", "keras", "torch-math"]),
    ],
)
def test_listings_are_complete(what: str, names: list[str]) -> None:
    first_words = {line.split()[0] for line in shown("list", what).splitlines() if line.strip()}
    assert set(names) <= first_words


def test_the_default_listing_ends_in_totals() -> None:
    assert f"{len(OPERATIONS)} operations, {len(LAWS):,} laws" in shown("list").splitlines()[-1]


@pytest.mark.parametrize("name", [*OPERATIONS, *CONVENTIONS])
def test_operations_and_conventions_are_explained(name: str) -> None:
    text = " ".join(shown("explain", name).split())
    meaning = OPERATIONS[name].summary if name in OPERATIONS else CONVENTIONS[name].question
    assert meaning in text


def test_an_operation_names_its_laws() -> None:
    text = shown("explain", "causal_mask")
    assert all(name in text for name, law in LAWS.items() if law.operation.name == "causal_mask")


def test_a_law_comes_with_its_proof_where_that_is_asked_for() -> None:
    short, long = (" ".join(shown("explain", "softmax.shift", *more).split()) for more in ((), ("--proof",)))
    for text in (short, long):
        assert LAWS["softmax.shift"].statement in text
        assert f"formula (1) {LAWS['softmax.shift'].claim.formula}" in text
    assert "(1) is proved by step 4 “Adding a constant to all logits changes nothing” of softmax" in short
    assert "veriformer explain softmax.shift --proof" in short
    assert "Proof of (4)" not in short
    assert "Proof of (4): index sums." in long


def test_the_step_that_proves_a_law_is_shown_first() -> None:
    text = " ".join(shown("explain", "attention.values.hull", "--proof").split())
    assert "step 2 “A half-space that contains all values contains the output” of convex_hull" in text
    assert text.index("2. A half-space that") < text.index("The other steps") < text.index("1. In every direction")


def test_what_a_law_and_its_proof_assume_is_given() -> None:
    text = " ".join(shown("explain", "attention.causal.no_future_leak").split())
    assert "given the keyword is_causal the convention causal_alignment" in text
    assert "in the proof: B_ik = 0" in text


def test_a_definition_says_why_it_was_chosen() -> None:
    text = " ".join(shown("explain", "attention.scale").split())
    assert "no derivation the definition" in text
    assert re.search(r"why so chosen step \d+ “Division by √d_k” of variance_scaling", text)
    assert "says why attention.scale" in " ".join(shown("explain", "variance_scaling").split())


def test_a_law_without_a_derivation_says_why() -> None:
    text = " ".join(shown("explain", "softmax.signature").split())
    assert LAWS["softmax.signature"].claim.reason in text


def test_a_derivation_names_the_laws_it_proves() -> None:
    assert "attention.scale" in shown("explain", "variance_scaling")


def test_every_worked_example_has_a_page() -> None:
    from veriformer.cli.example_page import example_page

    for example in WORKED_EXAMPLES:
        page = " ".join(" ".join(line.plain for line in example_page(example)).split())
        assert example.title in page
        assert example.verdict.value in page or not example.document


def test_a_worked_example_shows_printed_and_exact() -> None:
    text = shown("explain", "seed_001.root_of_three")
    assert "1.73" in text
    assert "√3" in text
    assert "1.7320508" in text


def test_derivations_are_checked_step_by_step() -> None:
    from veriformer.spec.derivations import load_derivation

    text = shown("derive", "variance_scaling")
    assert all(step.name in text for step in load_derivation("variance_scaling").steps)
    assert "proved by" in text
    assert text.splitlines()[-1].startswith("1 derivation, ")
    assert "all hold" in text.splitlines()[-1]


def test_a_derivation_can_be_printed_as_markdown() -> None:
    assert shown("derive", "variance_scaling", "--markdown").startswith("# Dividing by √d_k")


def test_a_step_that_does_not_hold_is_status_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from veriformer.spec.derivations import catalogue, load_derivation

    right = load_derivation("variance_scaling")
    step = next(step for step in right.steps if step.name == "Mean of one product")
    wrong = replace(step, right=step.right + 1)
    monkeypatch.setattr("veriformer.spec.derivations.load_derivation", lambda _: replace(right, steps=(wrong,)))
    assert catalogue.derivation_ids()
    result = CliRunner().invoke(application, ["derive", "variance_scaling"], standalone_mode=False)
    assert result.return_value == 1
    assert "✗ 1. Mean of one product" in result.output
    assert "not proved" in result.output
    assert "1 does not hold" in result.output


def test_a_step_beyond_the_time_limit_is_status_one() -> None:
    result = CliRunner().invoke(application, ["derive", "layer_norm", "--time-limit", "0.001"], standalone_mode=False)
    assert result.return_value == 1
    assert "not done within the limit of 0.001 s" in " ".join(result.output.split())


def test_derivations_are_checked_in_processes_and_shown_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("sinks", "inner_products", "alibi")
    monkeypatch.setattr("veriformer.spec.derivations.derivation_ids", lambda: names)
    outputs = [shown("derive", "--workers", count) for count in ("1", "2")]
    places = [outputs[1].index(f"\n{name}   " if number else f"{name}   ") for number, name in enumerate(names)]
    assert places == sorted(places)
    without_seconds = [re.sub(r"\(?\d+\.\d+ s\)?", "", output) for output in outputs]
    assert without_seconds[0] == without_seconds[1]
    assert "holds by evaluation" in outputs[1]
    assert "given 1 ≤ j ≤ S" in outputs[1]
