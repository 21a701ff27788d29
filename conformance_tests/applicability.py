"""Whether a law can be put to an operation, and if not, why not: a law that was not tried never looks passed."""

from __future__ import annotations

from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.cases.spaces import AttentionSpace
from veriformer.conformance_tests.inference import Profile
from veriformer.conformance_tests.law import Law


def not_declared(implementation: Implementation, law: Law) -> str:
    """Return why the implementation has not declared what the law is about; empty when it has."""
    operation = law.statement.operation.name
    if not implementation.declares(operation):
        return f"no operation {operation}"
    missing = [name for name in law.statement.features if name not in implementation.features(operation)]
    if missing:
        return f"{operation} has no keyword {' or '.join(missing)}"
    return ""


def not_offered(law: Law, profile: Profile) -> str:
    """Return what, by its conventions or stated limitations, the operation does not offer; empty when it does."""
    space = law.space
    if not isinstance(space, AttentionSpace):
        return ""
    name = law.statement.operation.name
    if space.widths == "unequal" and profile.subject.implementation.limited(name, "value_width"):
        return f"{name} declares that values are as wide as keys"
    return ""
