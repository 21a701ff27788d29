"""The suite catches what people get wrong: one change to a correct file, and each law that names the mistake fails.

The mistakes are data, in the files of `planted/`, one for each family of operations:

    [[mistake]]
    slug = "scale_missing"          of planted/catalogue.json, which has its sentence and the issues that report it
    summary = "..."                 what goes wrong, only where the catalogue does not have the slug
    source = "attention_numpy"      the correct file in sources/ that is changed
    right = "..."                   what stands there, once
    wrong = "..."                   what a mistaken author wrote instead
    laws = ["attention.scale"]      the laws about that very thing: each must fail

The operations are those of the laws. A counterexample must be small enough to be read: `planted/readable.json` says
how large a case of each kind may be. `planted/not_planted.json` says of the rest of the catalogue why it is not
planted, and `planted/remarks.json` what there is to say of an operation.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import check, search
from veriformer.conformance_tests.report import LawResult
from veriformer.spec.laws import LAWS, layers
from veriformer.spec.laws.law import Property
from veriformer.spec.operations import OPERATIONS

HERE = Path(__file__).parent
CATALOGUE: dict[str, dict[str, Any]] = json.loads((HERE / "planted/catalogue.json").read_text(encoding="utf-8"))
READABLE: dict[str, dict[str, int]] = json.loads((HERE / "planted/readable.json").read_text(encoding="utf-8"))
LEAST_CATALOGUED = 3
# Their verdicts are words, which have no entries that could be marked.
IN_WORDS = ("signature", "shape", "dtype", "inputs_unchanged")
# Whatever is found in so short a time is small enough to be read.
SHRINKING_SECONDS = 3.0


@dataclass(frozen=True)
class Mistake:
    """A passage of a correct source, what a mistaken author wrote instead, and the laws that must say so."""

    slug: str
    source: str
    right: str
    wrong: str
    laws: list[str]
    summary: str = ""

    @property
    def name(self) -> str:
        """What the test of it is called."""
        return f"{self.laws[0]}-{self.slug}-{self.source.rpartition('_')[2]}"

    def write(self, folder: Path) -> Path:
        """Write the source with the mistake into a folder."""
        text = (HERE / "sources" / f"{self.source}.py").read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.right!r} must occur once in {self.source}"
        path = folder / f"my_{self.source}.py"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return path


def read_mistakes() -> list[Mistake]:
    files = sorted((HERE / "planted").glob("*.toml"))
    return [Mistake(**entry) for file in files for entry in tomllib.loads(file.read_text("utf-8"))["mistake"]]


MISTAKES = read_mistakes()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_each_law_that_names_the_mistake_fails_on_a_small_case(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SHRINKING_SECONDS", SHRINKING_SECONDS)
    framework = mistake.source.rpartition("_")[2]
    if framework != "numpy":
        pytest.importorskip(framework)
    with np.errstate(all="ignore"):
        report = check(str(mistake.write(tmp_path)), laws=tuple(mistake.laws))
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(mistake.laws, "failed")
    assert report.exit_status == 1
    for result in report.results:
        assert_readable(result)


def assert_readable(result: LawResult) -> None:
    assert result.counterexample is not None
    case = result.counterexample.case
    if not result.law.id.endswith(IN_WORDS):
        assert np.asarray(result.counterexample.verdict.wrong).any()
    if case is None:
        return
    for sizes, most in READABLE[type(case).__name__].items():
        assert size_of(case, sizes) <= most, f"{sizes} is more than {most}: {case.describe()}"


def size_of(case: object, sizes: str) -> int:
    """Return a size of a case, or a product of sizes: `length`, `batch * length`, `weights.width`."""
    return prod(reduce(getattr, name.split("."), case) for name in sizes.split(" * "))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_mistakes_of_the_catalogue_are_caught_in_every_operation(operation: str) -> None:
    found = {
        mistake.slug for mistake in MISTAKES for law in mistake.laws if LAWS[law].operation.name == operation
    } & CATALOGUE.keys()
    assert len(found) >= LEAST_CATALOGUED, f"{operation}: only {sorted(found)}"


@pytest.mark.parametrize(
    ("operation", "claims"),
    [("encoder_layer", layers.ENCODER_LAYER_LAWS), ("decoder_layer", layers.DECODER_LAYER_LAWS)],
)
def test_every_law_that_a_layer_has_of_its_own_catches_a_mistake(operation: str, claims: Collection[Property]) -> None:
    """Those that every operation has are tried elsewhere."""
    caught = {law for mistake in MISTAKES for law in mistake.laws}
    own = {law.id for law in LAWS.values() if law.operation.name == operation and law.claim in claims}
    assert own
    assert own - caught == set()


def test_a_mistake_of_the_catalogue_is_planted_or_it_is_said_why_not() -> None:
    reasons: dict[str, list[str]] = json.loads((HERE / "planted/not_planted.json").read_text(encoding="utf-8"))
    left_out = [slug for slugs in reasons.values() for slug in slugs]
    planted = {mistake.slug for mistake in MISTAKES} & CATALOGUE.keys()
    assert sorted([*planted, *left_out]) == sorted(CATALOGUE)


def test_what_the_catalogue_does_not_have_is_said_once() -> None:
    summaries = defaultdict(set)
    for mistake in MISTAKES:
        summaries[mistake.slug].add(mistake.summary)
    for slug, said in summaries.items():
        assert len(said - {""}) == (slug not in CATALOGUE), f"{slug}: {said}"


def test_no_mistake_is_planted_twice() -> None:
    planted = [(mistake.source, mistake.right, mistake.wrong) for mistake in MISTAKES]
    assert len(planted) == len(set(planted))
