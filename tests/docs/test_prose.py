"""What the pages say of names, files and programs exists; and they speak of the product only."""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from veriformer.conformance_tests.core.selection import EXAMPLES
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import worked_example_ids

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HOW_IT_WORKS = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")
_PREFIXES = "|".join(operation.prefix for operation in OPERATIONS.values())
_LAW = re.compile(rf"(?<![\w./-])(?:{_PREFIXES})\.[a-z_*][a-z_.*]*(?:\d[a-z_.*]*)?(?<!\.)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
# Files, and what commands print, are held to be current by docs/check_pages.py; a model has its names in them, as a
# changed program has in a diff.
_PRINTED = ("```console", "```python file=", "```diff")
_FILES = re.compile(r"\.(py|md|txt|json|toml)\b")
_OWN_MACHINE = re.compile(r"(?<!\w)/(work|tmp|root|home|Users)/|prototype|TODO|FIXME", re.IGNORECASE)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def laws_in(text: str) -> set[str]:
    """Return what looks like the id of a law in code, or like a glob over ids; a file's name does not."""
    written = (code for code in _CODE.findall(text) if not code.startswith(_PRINTED))
    mentioned = (found for code in written for found in _LAW.findall(code))
    return {found for found in mentioned if not _FILES.search(found)}


def is_law(name: str) -> bool:
    return any(fnmatchcase(identifier, name) for identifier in LAWS)


@each_page
def test_every_law_that_a_page_mentions_exists(page: Path) -> None:
    assert not {name for name in laws_in(page.read_text(encoding="utf-8")) if not is_law(name)}


def test_an_unknown_law_is_seen() -> None:
    found = laws_in(
        "`attention.causal.no_future_leak`, `softmax.shfit`, `tests/x/softmax.py`, `masking.md`, `softmax.*`."
    )
    assert {name for name in found if not is_law(name)} == {"softmax.shfit"}
    assert len(found) == 3


@each_page
def test_every_worked_example_that_a_page_mentions_exists(page: Path) -> None:
    mentioned = set(re.findall(r"\bseed_\d{3}\.\w+", page.read_text(encoding="utf-8")))
    assert mentioned <= set(worked_example_ids())


@each_page
def test_no_page_speaks_of_the_machine_it_was_written_on(page: Path) -> None:
    assert not _OWN_MACHINE.search(page.read_text(encoding="utf-8"))


def test_the_same_holds_of_the_pages_that_are_drawn_from_the_code(generated: dict[str, str]) -> None:
    assert len(generated) > 30
    for path, page in generated.items():
        assert not {name for name in laws_in(page) if not is_law(name)}, path
        assert set(re.findall(r"\bseed_\d{3}\.\w+", page)) <= set(worked_example_ids()), path
        assert not _OWN_MACHINE.search(page), path


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/how_it_works.md", "docs/index.md"])
def test_every_file_and_folder_that_is_named_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    rooms = "spec|reference|conformance_tests|adapters|cli|tests|docs|benchmarks"
    named = set(re.findall(rf"`((?:{rooms})/[\w./]*)`", text)) | set(re.findall(r"benchmarks/\w+\.py", text))
    assert named
    assert not {path for path in named if "ID" not in path and "NAME" not in path and not (ROOT / path).exists()}


def test_the_guide_names_what_the_code_has() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = {
        "spec/laws/interface.py": "def promises",
        "spec/laws/masking.py": "MASK_LAWS",
        "spec/conventions.py": "_CATALOGUE",
        "spec/derivations/catalogue.py": "_TITLES",
        "tests/spec/test_derivations.py": "EXPECTED",
        "conformance_tests/core/law.py": "def judges",
        "conformance_tests/conventions/asking.py": "class Asking",
        "adapters/built_in.py": "BUILT_IN",
        "adapters/arrays.py": "class ArrayFramework",
        "conformance_tests/mistakes/mistake.py": "class PlantedMistake",
    }
    for path, name in code.items():
        assert name in (ROOT / path).read_text(encoding="utf-8"), path
        assert name.split()[-1] in guide


def test_the_command_that_installs_and_tests_is_that_of_the_readme() -> None:
    command = re.compile(r"^```sh\n(.*pytest\b.*)\n```$", re.MULTILINE)
    guide, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "README.md"))
    assert command.findall(guide) == command.findall(readme) != []


def test_numbers_of_cases_are_those_of_the_code() -> None:
    for tier, cases in EXAMPLES.items():
        assert re.search(rf"`{tier}` {cases}\b", HOW_IT_WORKS)


def test_the_example_of_expected_failures_can_be_read(tmp_path: Path) -> None:
    section = HOW_IT_WORKS.partition("## Expected failures")[2]
    example = re.search(r"```text\n(.*?)```", section, re.DOTALL)
    assert example is not None
    path = tmp_path / "known.txt"
    path.write_text(example[1], encoding="utf-8")
    entries = ExpectedFailures.read(path).entries
    assert [entry.implementation for entry in entries] == [None, "torch"]
    assert all(entry.law in LAWS for entry in entries)


def test_the_example_in_python_runs(tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", HOW_IT_WORKS.partition("## Python\n")[2], re.DOTALL)
    assert example is not None
    (tmp_path / "my_attention.py").write_text(
        "import numpy as np\n\n\ndef softmax(x):\n"
        "    weights = np.exp(x - x.max(axis=-1, keepdims=True))\n"
        "    return weights / weights.sum(axis=-1, keepdims=True)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-c", example[1]]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True)
    lines = run.stdout.splitlines()
    assert lines[0].startswith("conforms")
    assert len(lines) == 1 + sum(law.operation.name == "softmax" for law in LAWS.values())
