"""The catalogue of mistakes can be read from the package, and its programs are what it says they are."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from veriformer.conformance_tests import mistakes
from veriformer.conformance_tests.mistakes import Citation, PlantedMistake, catalogue, caught_by, planted
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "veriformer.conformance_tests.mistakes"


def test_every_mistake_is_reported_or_planted() -> None:
    assert len(catalogue()) > 250
    for slug, mistake in catalogue().items():
        assert mistake.slug == slug
        assert mistake.sentence
        assert mistake.citations or mistake.planted
        assert bool(mistake.planted) != bool(mistake.reason), slug


def test_what_is_planted_is_found_under_its_slug() -> None:
    assert sorted(entry.name for mistake in catalogue().values() for entry in mistake.planted) == sorted(
        entry.name for entry in planted()
    )


def test_laws_and_operations_are_those_of_the_specification() -> None:
    scale = catalogue()["scale_missing"]
    assert scale.laws == tuple(law for law in LAWS if law.partition(".")[2] == "scale" and law in scale.laws)
    assert set(scale.operations) == {LAWS[law].operation.name for law in scale.laws}
    assert "attention.scale" in scale.laws
    assert {law for mistake in catalogue().values() for law in mistake.laws} <= LAWS.keys()


def test_a_law_knows_what_it_catches_and_reported_mistakes_come_first() -> None:
    laws_of = {slug: set(mistake.laws) for slug, mistake in catalogue().items()}
    for law in LAWS:
        slugs = caught_by(law)
        assert set(slugs) == {slug for slug, laws in laws_of.items() if law in laws}
        reported = [bool(catalogue()[slug].citations) for slug in slugs]
        assert reported == sorted(reported, reverse=True)


def test_every_mistaken_program_is_python_and_differs_from_the_correct_one() -> None:
    assert len(planted()) > 500
    for entry in planted():
        assert ast.dump(ast.parse(entry.source_text())) != ast.dump(ast.parse(entry.correct_text())), entry.name


def test_changed_lines_are_those_of_the_two_programs() -> None:
    for entry in planted():
        changed = entry.changed_lines()
        assert changed
        for mark, text in (("-", entry.correct_text()), ("+", entry.source_text())):
            lines = {line.strip() for line in text.splitlines()}
            assert {line[2:].strip() for line in changed if line[0] == mark} <= lines


def test_changed_lines_keep_their_indentation() -> None:
    scale = next(entry for entry in catalogue()["scale_missing"].planted if entry.framework == "numpy")
    assert scale.changed_lines() == (
        "- scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale",
        "+ scale = 1.0 if scale is None else scale",
    )


@pytest.mark.parametrize("right", ["no such passage", "import"])
def test_a_passage_that_does_not_occur_once_is_refused(right: str) -> None:
    entry = PlantedMistake("some_slug", "attention_torch", right, "", ("attention.scale",))
    with pytest.raises(ValueError, match="must occur once in attention_torch"):
        entry.source_text()


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(KeyError, match="no source is called 'attention_basic'; there are adamw_numpy"):
        mistakes.read_source("attention_basic")


def test_a_citation_leads_to_its_issue() -> None:
    assert Citation("owner/some.name#12", "", "", "").url == "https://github.com/owner/some.name/issues/12"
    with pytest.raises(ValueError, match="'owner/name' is no issue"):
        Citation("owner/name", "", "", "")


def test_remarks_are_of_operations() -> None:
    assert mistakes.remarks().keys() <= OPERATIONS.keys()


def test_no_mistake_is_called_like_something_else() -> None:
    from veriformer.spec.conventions import CONVENTIONS
    from veriformer.spec.derivations import derivation_ids

    assert not catalogue().keys() & {*LAWS, *OPERATIONS, *CONVENTIONS, *derivation_ids()}


def test_every_file_is_shipped() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folder = ROOT / "conformance_tests" / "mistakes"
    patterns = setuptools["package-data"][PACKAGE]
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    data = {path.relative_to(folder).as_posix() for path in files if path.parent != folder or path.suffix != ".py"}
    assert len(data) > 30
    assert not {name for name in data if not any(fnmatchcase(name, pattern) for pattern in patterns)}
    # A link would lead out of what is installed.
    assert not [path for path in files if path.is_symlink()]


def test_reading_imports_no_framework() -> None:
    script = (
        "import sys\nfrom veriformer.conformance_tests.mistakes import catalogue\n"
        "[entry.source_text() for mistake in catalogue().values() for entry in mistake.planted]\n"
        "heavy = {'numpy', 'sympy', 'torch', 'jax', 'hypothesis'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
