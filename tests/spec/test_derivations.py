"""The catalogue of derivations, and that every step of every derivation holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from veriformer.spec.derivations import (
    UnknownDerivationError,
    catalogue,
    derivation_ids,
    derivation_title,
    load_derivation,
)
from veriformer.spec.derivations.derivation import Derivation, Scope
from veriformer.spec.derivations.results import DerivationResult

EXPECTED = {
    "variance_scaling",
    "sinusoid_relative_position",
    "softmax",
    "saturation",
    "masking",
    "causality",
    "permutation",
    "convex_hull",
    "multi_head",
    "grouped_query",
    "independence",
    "layer_norm",
    "cross_entropy",
    "adamw",
    "clipping",
    "schedules",
    "dropout",
    "initialisation",
    "rotary",
    "alibi",
    "rms_norm",
    "gated_activations",
    "feed_forward",
    "windows",
    "softcap",
    "sinks",
    "inner_products",
    "online_softmax",
    "backward",
    "matrices_backward",
    "lookup",
    "attention_backward",
    "merging_backward",
    "additions_backward",
    "residual",
    "decoding_cache",
    "rounding_of_sums",
    "attention_rounding",
    "normalisation_rounding",
    "cost",
}


@pytest.fixture(scope="module", params=derivation_ids())
def derivation(request: pytest.FixtureRequest) -> Derivation:
    return load_derivation(request.param)


@pytest.fixture(scope="module")
def result(derivation: Derivation) -> DerivationResult:
    return derivation.check()


def test_every_step_is_proved_evaluated_and_not_vacuous(derivation, result):
    assert result.holds, result.report
    assert len(result.steps) == len(derivation.steps) >= 5


def test_every_step_takes_several_points_and_alterations(result):
    for step in result.steps:
        assert step.spot_check.count >= 1
        assert step.vacuity.count >= 2, step.step


def test_names_of_steps_are_unique(derivation):
    names = [step.name for step in derivation.steps]
    assert len(set(names)) == len(names)


def test_every_derivation_says_what_it_assumes_and_where_the_law_comes_from(derivation):
    assert derivation.assumptions
    assert derivation.sources
    assert all(source.quotation or source.comment for source in derivation.sources)
    assert all(step.why.endswith((".", ")", "!")) for step in derivation.steps)
    assert isinstance(derivation.scope, Scope)


def test_table_and_module_agree(derivation):
    assert derivation.title == derivation_title(derivation.id)
    assert derivation.id in derivation_ids()


def test_every_module_with_a_derivation_is_in_the_table():
    package = Path(catalogue.__file__).parent
    with_derivation = {path.stem for path in package.glob("*.py") if "\nDERIVATION = " in path.read_text("utf-8")}
    assert with_derivation == set(derivation_ids()) == EXPECTED


def test_unknown_id_names_close_matches():
    with pytest.raises(UnknownDerivationError, match="softmax") as caught:
        load_derivation("softmx")
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith("no derivation is called 'softmx'")


def test_listing_does_not_import_sympy():
    program = (
        "import sys; from veriformer.spec.derivations import derivation_ids, derivation_title; "
        "[derivation_title(i) for i in derivation_ids()]; print('sympy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_types_are_available_from_the_package():
    import veriformer.spec.derivations as package

    assert package.Derivation is Derivation
    assert package.Scope is Scope
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = package.Nonsense
