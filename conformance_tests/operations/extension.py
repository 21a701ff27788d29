"""The operations that another package adds to the conformance tests, and whether they are complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veriformer.conformance_tests.core.law import has_own_check
from veriformer.conformance_tests.core.suite import Suite
from veriformer.conformance_tests.mistakes.files import read_json, read_planted, source_names
from veriformer.conformance_tests.mistakes.mistake import PlantedMistake, changed
from veriformer.spec.extensions import Stated
from veriformer.spec.laws import by_id


@dataclass(frozen=True)
class Extension(Stated):
    """Operations of another package, with everything that the conformance tests know about them.

    `laws` are those of the operations alone: the promises of every operation are added. A check registered for it
    (`judges`) judges each. `sources` are correct programs by their names, which end in their framework, as
    `relu_squared_numpy` does; `mistakes` are planted in them. ValueError if something is missing.
    """

    suites: tuple[Suite[Any, Any, Any], ...]
    mistakes: tuple[PlantedMistake, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Each returns what is wrong as a sentence; empty if nothing is.
        if wrong := self._wrong_suites() or self._wrong_laws() or self._wrong_mistakes():
            raise ValueError(wrong)

    def _wrong_suites(self) -> str:
        names = [operation.name for operation in self.operations]
        if sorted(suite.operation for suite in self.suites) != sorted(names):
            having = ", ".join(suite.operation for suite in self.suites) or "none"
            return f"each of its operations ({', '.join(names)}) needs one suite; there are suites of {having}"
        asking = [operation.name for operation in self.operations if operation.conventions]
        return f"{asking[0]} has conventions, which only our own operations can have" if asking else ""

    def _wrong_laws(self) -> str:
        for law in self.laws:
            if law.operation not in self.operations:
                return f"the law {law.id} is stated of {law.operation.name}, which is not among its operations"
            if law.claim.background is not None:
                return f"the law {law.id} names a derivation, and ours are about our operations; give it a reason"
            if law.claim.conventions:
                return f"the law {law.id} depends on conventions, and ours are about our operations; leave them out"
            if missing := set(law.features) - set(law.operation.features):
                return f"the law {law.id} needs the feature {min(missing)}, which its operation does not have"
            if not has_own_check(law.claim.key, law.operation.name):
                return f"the law {law.id} has no check; register one with @judges({law.claim.key!r}, …)"
        without = [one.name for one in self.operations if not any(law.operation == one for law in self.laws)]
        return f"{without[0]} has no law" if without else ""

    def _wrong_mistakes(self) -> str:
        known = by_id(self.laws)
        ours = {record["slug"] for record in (*read_json("catalogue.json"), *read_planted())}
        said = {mistake.slug for mistake in self.mistakes if mistake.summary}
        for mistake in self.mistakes:
            if not mistake.laws or mistake.slug not in said:
                return f"the mistake {mistake.slug} needs {'a summary' if mistake.laws else 'a law that it breaks'}"
            if mistake.slug in ours:
                return f"the mistake {mistake.slug} has the slug of one of ours; give it another one"
            if mistake.source not in self.sources:
                return f"the mistake {mistake.slug} is planted in {mistake.source!r}, which is not among its sources"
            if unknown := [law for law in mistake.laws if law not in known]:
                return f"the mistake {mistake.slug} names the law {unknown[0]}, which its operations do not have"
            changed(self.sources[mistake.source], mistake.right, mistake.wrong, mistake.source)
        clashing = [name for name in self.sources if name in source_names()]
        return f"its source {clashing[0]} has the name of one of ours" if clashing else ""
