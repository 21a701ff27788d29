"""Whether a law applies to an operation, and why not: a law that was not tried never looks as if it had passed."""

from __future__ import annotations

from collections.abc import Iterable

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.model_declarations import BlackBox
from veriformer.conformance_tests.conventions.profile import Profile
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.operations.attention.case import ADDITIONS, AttentionSpace
from veriformer.conformance_tests.operations.black_box.cases import BoxSpace
from veriformer.conformance_tests.operations.models.cases import ModelSpace

_OF_EMPTY_ROWS = frozenset({"mask.empty_row", "causal.empty_row", "both_empty"})
_RIGHT_ONLY = "{} declares that it takes padding on the right only"


def not_declared(implementation: Implementation, law: Law) -> str:
    """Return why the implementation does not declare what the law is about; empty when it does."""
    operation = law.statement.operation.name
    if not implementation.declares(operation):
        return f"no operation {operation}"
    if operation == "model" and implementation.black_box is None:
        return "model has no model_inputs, which say what it takes"
    if law.statement.claim.key == "dtype" and not implementation.promises_dtype(operation):
        return f"{operation} is a function of another interface, which promises no dtype"
    missing = [name for name in law.statement.features if name not in implementation.features(operation)]
    if missing:
        return f"{operation} has no keyword {' or '.join(missing)}"
    if isinstance(law.space, ModelSpace):
        return _no_architecture(implementation, operation, law.space)
    if isinstance(law.space, BoxSpace) and implementation.black_box is not None:
        return _not_promised(implementation, implementation.black_box, law.space)
    return ""


def declared(implementation: Implementation, laws: Iterable[Law]) -> list[Law]:
    """Return the laws about what the implementation declares, which are those that will be tried."""
    return [law for law in laws if not not_declared(implementation, law)]


def _not_promised(implementation: Implementation, box: BlackBox, space: BoxSpace) -> str:
    if {space.declared} - {"", *box.properties}:
        return f"model does not declare itself {space.declared}"
    if space.sides == ("left",) and implementation.limited("model", "left_padding"):
        return _RIGHT_ONLY.format("model")
    return ""


def _no_architecture(implementation: Implementation, operation: str, space: ModelSpace) -> str:
    declared = implementation.architectures[operation]
    if space.architectures and not set(space.architectures) & set(declared):
        return f"{operation} declares no architecture {' or '.join(space.architectures)}"
    if space.sides == ("left",) and implementation.limited(operation, "left_padding"):
        return _RIGHT_ONLY.format(operation)
    return ""


def not_offered(law: Law, profile: Profile) -> str:
    """Return what the operation does not offer, by its conventions or declared limitations; empty if nothing."""
    space, name = law.space, law.statement.operation.name
    if law.statement.claim.key in _OF_EMPTY_ROWS and profile.subject.implementation.limited(name, "empty_rows"):
        return profile.lacking or f"{name} declares that a query without a visible key has no result of its own"
    if profile.lacking or not isinstance(space, AttentionSpace):
        return profile.lacking
    with_bias = space.bias == "always" or ADDITIONS.get(name) == "bias"
    conventions = profile.subject.conventions
    if with_bias and space.causal == "always" and conventions.get("causal_with_mask") == "rejects":
        return f"{name} refuses a bias together with the causal flag"
    if space.widths == "unequal" and profile.subject.implementation.limited(name, "value_width"):
        return f"{name} declares that values are as wide as keys"
    if space.lengths == "unequal" and profile.subject.implementation.limited(name, "unequal_lengths"):
        return f"{name} declares that there are as many queries as keys"
    if law.statement.claim.key == "biases" and profile.fixed.choices.offered.get("biases") == (False,):
        return f"{name} has no biases"
    if space.mask == "always" and with_bias and profile.refuses_bias_beside_mask:
        return f"{name} refuses a bias together with a mask"
    return ""
