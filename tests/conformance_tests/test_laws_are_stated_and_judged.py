"""Every law is stated, proved or explained, and judged; nothing is judged that is not stated."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from types import UnionType
from typing import Union, get_args, get_origin

import pytest
from veriformer.conformance_tests.core import law as registry
from veriformer.conformance_tests.core.law import Check, Law, judges
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.operations import laws as bound_laws
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace
from veriformer.conformance_tests.operations.dropout.cases import DropoutSpace
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingSpace
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.layers.cases import LayerSpace
from veriformer.conformance_tests.operations.loss.cases import LossSpace
from veriformer.conformance_tests.operations.models.cases import ModelSpace
from veriformer.conformance_tests.operations.relative_positions.cases import BucketSpace
from veriformer.conformance_tests.operations.rotary.cases import RotarySpace
from veriformer.conformance_tests.operations.softmax.inputs import SoftmaxInputs
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.conformance_tests.operations.training.cases import TrainingSpace
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.derivations import derivation_ids, load_derivation
from veriformer.spec.laws import LAWS, LawStatement, Property
from veriformer.spec.operations import OPERATIONS


def offenders(is_right: Callable[[Law], bool]) -> list[str]:
    """Return the laws of which something is not true."""
    return [law.id for law in laws().values() if not is_right(law)]


def test_a_reason_for_having_no_derivation_says_something() -> None:
    assert not offenders(lambda law: law.statement.claim.reason is None or len(law.statement.claim.reason) > 10)


def test_every_derivation_that_is_named_exists() -> None:
    assert not offenders(lambda law: law.statement.claim.derivation in (None, *derivation_ids()))


def test_every_law_that_is_derived_cites_steps_that_exist_and_prove() -> None:
    """A step that only exhibits a difference proves no law alone."""

    def cites_proofs(law: Law) -> bool:
        claim = law.statement.claim
        steps = {step.name: step for step in load_derivation(claim.background).steps} if claim.background else {}
        cited = [steps[name] for name in claim.steps if name in steps]
        proves = claim.derivation is None or any(step.relation != "≠" for step in cited)
        return len(cited) == len(claim.steps) and bool(claim.steps) == bool(claim.background) and proves

    assert not offenders(cites_proofs)


@pytest.mark.parametrize(
    "law",
    ("attention.scale", "attention.mask.polarity", "attention.mask.empty_row", "layer_norm.gain_and_shift",
     "rms_norm.gain", "causal_mask.value", "attention.bias.value", "sinks.value", "merge.value"),
)  # fmt: skip
def test_definitions_and_conventions_are_not_said_to_be_derived(law: str) -> None:
    law = law if law in LAWS else f"attention.{law}"
    assert LAWS[law].claim.derivation is None
    assert re.match("the definition|a convention", LAWS[law].claim.reason or "")


def test_steps_without_a_derivation_and_a_motivation_beside_a_proof_are_refused() -> None:
    with pytest.raises(ValueError, match="steps without one"):
        Property("x", "X holds.", "x", "somewhere", reason="the definition", steps=("A step",))
    with pytest.raises(ValueError, match="without its steps"):
        Property("x", "X holds.", "x", "somewhere", derivation="softmax")
    with pytest.raises(ValueError, match="only motivates"):
        Property("x", "X holds.", "x", "somewhere", derivation="softmax", motivation="masking", steps=("A step",))


def test_every_law_is_said_in_a_sentence_a_formula_and_a_source() -> None:
    assert not offenders(lambda law: bool(re.fullmatch(r"[A-Z].*\.", law.statement.statement)))
    assert not offenders(lambda law: bool(law.statement.formula and law.statement.claim.source))


def test_the_features_that_a_law_needs_are_keywords_of_its_operation() -> None:
    assert not offenders(lambda law: set(law.statement.features) <= set(law.statement.operation.features))


def test_what_its_cases_always_have_is_a_feature_that_it_needs() -> None:
    """A law put to an implementation that lacks the keyword would pass without having been tried."""
    assert not offenders(lambda law: always_given(law) <= set(law.statement.features))


def test_what_a_law_needs_is_what_its_cases_have_or_the_check_adds() -> None:
    """The flag's law of an explicit mask, and the mask's law of an additive one, build the second form themselves."""
    added_by_the_check = {
        "causal.explicit_mask": {"mask"},
        "mask.additive": {"bias"},
        "window.explicit_mask": {"mask"},
        "padding.none": {"padding_mask"},
        "grouped_heads": {"num_kv_heads"},
        "scale.range": {"scale"},
        "positions.default": {"positions"},
        "positions.shared": {"positions"},
        "padding.positions": {"positions"},
        "padding.all_real": {"padding_mask"},
        "cache.tokens": {"parts"},
        "cache.parts": {"parts"},
        "gradients.value": {"cotangent"},
        "loss.value": {"labels"},
        "loss.ignored": {"labels"},
        "batch.arguments": {"samples"},
        "evaluation.training_again": {"training"},
    }

    def has(law: Law) -> bool:
        added: set[str] = added_by_the_check.get(law.statement.claim.key, set())
        return set(law.statement.features) <= always_given(law) | added

    assert not offenders(has)


def always_given(law: Law) -> set[str]:
    space = law.space
    asked: dict[str, str] = {}
    if isinstance(space, AttentionSpace):
        asked = {"mask": space.mask, "bias": space.bias, "is_causal": space.causal, "scale": space.scale}
        asked |= {"window": space.window, "softcap": space.softcap, "sinks": space.sinks}
    elif isinstance(space, LossSpace):
        asked = {"ignore_index": space.ignore, "label_smoothing": space.smoothing}
        asked |= {"reduction": "sometimes" if None in space.reductions else "always"}
    elif isinstance(space, EmbeddingSpace):
        asked = {"scale_by_sqrt_d_model": space.scaled}
    elif isinstance(space, RotarySpace):
        asked = {"base": space.base, "rotary_dim": space.rotary_dim}
    elif isinstance(space, TrainingSpace):
        asked = {"ignore_index": space.ignore_index, "micro_batches": space.micro_batches}
    elif isinstance(space, LayerSpace):
        asked = {"padding_mask": space.padding, "memory_padding_mask": space.memory_padding}
    elif isinstance(space, ModelSpace):
        own = "target_padding_mask" if law.statement.operation.name == "encoder_decoder" else "padding_mask"
        asked = {own: space.padding, "source_padding_mask": space.source_padding}
        asked |= {"positions": space.positions}
    elif isinstance(space, BoxSpace):
        asked = {"padding_mask": space.padding}
    elif isinstance(space, BucketSpace):
        # Its keywords come together: an implementation that lacks one is given none of them.
        asked = dict.fromkeys(("bidirectional", "num_buckets", "max_distance"), "always")
    elif isinstance(space, DropoutSpace):
        asked = {"training": "sometimes" if None in space.training else "always"}
    return {name for name, how in asked.items() if how == "always"}


def test_the_conventions_that_a_law_names_exist_and_bear_on_its_operation() -> None:
    assert not offenders(lambda law: set(law.statement.claim.conventions) <= set(CONVENTIONS))
    unasked = offenders(lambda law: set(law.statement.claim.conventions) <= set(law.statement.operation.conventions))
    # Which key/value projection a query head reads is the reference's choice: nothing asks it of this operation.
    assert set(unasked) <= {"multi_head.grouped_heads"}


def test_nothing_is_judged_that_is_not_stated() -> None:
    assert len(laws()) > 700
    stated = {(law.claim.key, law.operation.name) for law in LAWS.values()}
    keys = {key for key, _ in stated}
    for key, operation in registry._CHECKS:
        assert (key, operation) in stated if operation else key in keys, f"nothing states {key!r} of {operation}"


def judged_by(check: Check) -> tuple[type, ...]:
    """Return the kinds of inputs that a check is annotated with, empty for one that has no case."""
    function = inspect.unwrap(check)
    annotation = eval(inspect.signature(function).parameters["trial"].annotation, function.__globals__)
    (inputs,) = get_args(annotation)
    kinds = get_args(inputs) if isinstance(inputs, UnionType) or get_origin(inputs) is Union else (inputs,)
    return tuple(get_origin(kind) or kind for kind in kinds if kind is not None)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_check_is_of_the_inputs_that_its_operations_have(operation: str) -> None:
    """Checks are found by the names of operations, which no type checker sees."""
    own = suite_of(operation).inputs
    asked = [law for law in laws().values() if law.statement.operation.name == operation]
    with_cases = [law for law in asked if not isinstance(law.space, NoSpace)]
    assert with_cases
    assert [law.id for law in with_cases if not issubclass(own, judged_by(law.check))] == []


def test_checks_tell_the_kinds_of_their_inputs_apart() -> None:
    assert judged_by(laws()["softmax.shift"].check) == (SoftmaxInputs,)
    assert not issubclass(suite_of("rms_norm").inputs, judged_by(laws()["softmax.shift"].check))


def test_a_check_for_any_operation_is_used_by_one() -> None:
    for (key, operation), (_, check, *_) in registry._CHECKS.items():
        used = [law for law in laws().values() if law.check is check and law.statement.claim.key == key]
        assert used, f"the check of {key!r} for {operation or 'any operation'} judges no law"


def test_every_derivation_proves_a_law_or_says_why_no_law_names_it_and_not_both() -> None:
    named = {law.claim.derivation for law in LAWS.values()}
    without_law = {name for name in derivation_ids() if load_derivation(name).reason_without_law}
    assert set(derivation_ids()) - named == without_law


def test_every_operation_has_laws_that_everyone_owes() -> None:
    for name in OPERATIONS:
        keys = {law.claim.key for law in LAWS.values() if law.operation.name == name}
        assert {"signature", "shape", "same_call_same_answer", "history_independence"} <= keys
        assert len(keys) >= 8


def test_every_convention_that_bears_on_an_operation_is_named_by_a_law_or_settled_by_a_probe() -> None:
    named = {convention for law in LAWS.values() for convention in law.claim.conventions}
    bearing = {convention for operation in OPERATIONS.values() for convention in operation.conventions}
    assert bearing - named <= {"layout", "softmax_dtype", "numerics"}


def test_ids_are_words_and_operations_have_prefixes_of_their_own() -> None:
    assert all(re.fullmatch(r"[a-z_]+(\.[a-z_]+(_\d)?[a-z_]*)+", identifier) for identifier in LAWS)
    prefixes = [operation.prefix for operation in OPERATIONS.values()]
    assert len(set(prefixes)) == len(prefixes)


def test_statements_of_one_operation_differ() -> None:
    for name in OPERATIONS:
        sentences = [law.statement for law in LAWS.values() if law.operation.name == name]
        assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("proofs", ({}, {"derivation": "softmax", "reason": "by definition"}))
def test_a_property_without_proof_or_with_two_is_refused(proofs: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="derivation or a reason"):
        Property("x", "X holds.", "x", "somewhere", **proofs)


def test_a_second_check_of_the_same_property_is_refused() -> None:
    with pytest.raises(ValueError, match="two checks for property 'nonnegative' of softmax"):
        judges("nonnegative", space=NoSpace(), operations=("softmax",))(laws()["softmax.nonnegative"].check)


def test_a_statement_that_nothing_judges_is_an_error() -> None:
    statement = LAWS["softmax.shift"]
    unjudged = LawStatement(statement.operation, replace(statement.claim, key="not judged"))
    with pytest.raises(ValueError, match="stated but nothing judges it"):
        bound_laws._bind(unjudged)
