"""The JSON Schemas of reports: complete, installed with the package, and kept as they were published.

tests/conftest.py holds every report that any test makes as JSON to its schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from veriformer.cli import main
from veriformer.conformance_tests.comparison.comparison import Side
from veriformer.conformance_tests.conventions.identification import Told
from veriformer.conformance_tests.core.law_result import Status
from veriformer.conformance_tests.core.selection import Effort
from veriformer.conformance_tests.ports import findings as of_ports
from veriformer.conformance_tests.recognition import findings as of_models
from veriformer.conformance_tests.reports.json_report import SCHEMA
from veriformer.conformance_tests.reports.schemas import COMMANDS, file_name, schema, schema_text
from veriformer.conformance_tests.run.report import VerdictName

PUBLISHED = sorted((Path(__file__).parent / "published_schemas").glob("*.json"))
WRONG = "import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(axis=-1, keepdims=True)\n"
GPT = Path(__file__).resolve().parents[2] / "docs" / "examples" / "my_gpt.py"
ANNOTATIONS = ("description", "title", "examples", "$comment")

Read = Callable[..., Any]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that runs a command in a folder with a wrong file and a right one, and reads its JSON."""
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "right.py").write_text(WRONG.replace("np.exp(x)", "np.exp(x - x.max(axis=-1, keepdims=True))"))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> Any:
        with pytest.raises(SystemExit):
            main([*arguments, "--json", "out.json"])
        return json.loads(Path("out.json").read_text("utf-8"))

    return command


FILES = {
    "one implementation": ("check", "wrong.py", "--tier", "quick"),
    "all laws": ("check", "right.py", "--tier", "quick", "--all-laws"),
    "several, of which one is missing": ("check", "wrong.py", "numpy", "nope.py", "--law", "softmax.large_logits"),
    "implementations": ("compare", "wrong.py", "right.py", "--tier", "quick"),
    "conventions": ("identify", "right.py"),
    "conventions of several": ("identify", "right.py", "nope.py"),
}


@pytest.mark.parametrize("arguments", FILES.values(), ids=FILES)
def test_a_file_satisfies_its_schema(written: Read, holds_to_its_schema, arguments) -> None:
    command = arguments[0]
    found = written(*arguments)
    holds_to_its_schema(command, found)
    # Here each number is looked at too.
    Draft202012Validator(schema(command)).validate(found)
    for file in PUBLISHED:
        if file.name.startswith(f"{command}-"):
            Draft202012Validator(json.loads(file.read_text("utf-8"))).validate(found)


def test_a_file_about_models_satisfies_its_schema(written: Read, holds_to_its_schema) -> None:
    pytest.importorskip("torch")
    Path("right_gpt.py").write_text(GPT.read_text("utf-8").replace("math.sqrt(width)", "math.sqrt(q.shape[-1])"))
    for command, names in {"check": (f"{GPT}:GPT",), "compare": ("right_gpt.py:GPT", f"{GPT}:GPT")}.items():
        found = written(command, *names)
        assert found["departures"]
        holds_to_its_schema(command, found)
        Draft202012Validator(schema(command)).validate(found)


def test_a_key_without_an_entry_a_missing_one_and_a_wrong_type_are_found(written: Read, holds_to_its_schema) -> None:
    found = written("check", "wrong.py", "--law", "softmax.large_logits", "--tier", "quick")
    broken = []
    for change in (
        lambda one: one.update(news=1),
        lambda one: one["laws"][0].update(news=1),
        lambda one: one["laws"][0]["counterexample"].update(news=1),
        lambda one: one["laws"][0]["diagnosis"][0].update(news=1),
        lambda one: one.pop("stale"),
        lambda one: one["laws"][0].pop("reason"),
        lambda one: one.update(seconds="3 s"),
        lambda one: one.update(verdict="perhaps"),
    ):
        changed = deepcopy(found)
        change(changed)
        with pytest.raises(AssertionError, match=r"is not what .*check-1\.json says"):
            holds_to_its_schema("check", changed)
        broken.append(not Draft202012Validator(schema("check")).is_valid(changed))
    # The schema itself allows further keys, so that readers of an old version can read what a later one writes.
    assert broken == [False] * 4 + [True] * 4


@pytest.mark.parametrize("command", COMMANDS)
def test_a_schema_is_valid_and_installed_with_the_package(command, capsys) -> None:
    Draft202012Validator.check_schema(schema(command))
    assert schema(command)["$id"] == f"urn:veriformer:schema:{command}-{SCHEMA}"
    installed = files("veriformer.conformance_tests.reports.schemas") / file_name(command)
    assert installed.read_text("utf-8") == schema_text(command)
    with pytest.raises(SystemExit) as end:
        main(["report", "schema", command])
    assert (end.value.code or 0, capsys.readouterr().out) == (0, schema_text(command))


def test_words_are_those_of_the_code() -> None:
    check, compare, identify = (schema(command)["$defs"] for command in ("check", "compare", "identify"))

    def words(part: dict[str, Any], key: str) -> tuple[Any, ...]:
        of = part["properties"][key]
        return tuple(of.get("enum") or of["examples"])

    assert words(check["law"], "status") == words(check["model_law"], "status") == get_args(Status)
    assert words(check["functions"], "verdict") == words(check["model"], "verdict") == get_args(VerdictName)
    assert set(words(check["functions"], "tier")) == set(get_args(Effort))
    assert words(check["part"], "status") == get_args(of_models.Status)
    assert words(check["departure"], "step") == words(compare["difference"], "step") == get_args(of_models.StepName)
    assert words(compare["parting"], "laws_side_with") == (*get_args(Side), None)
    assert set(words(compare["models"], "verdict")) == set(get_args(of_ports.PortVerdict))
    assert words(compare["difference"], "departs") == get_args(of_ports.Departing)
    assert words(compare["difference"]["properties"]["cause"], "kind") == get_args(of_ports.CauseKind)
    assert words(compare["models"]["properties"]["parts"]["items"], "status") == get_args(of_ports.PairStatus)
    assert words(compare["models"]["properties"]["situations"]["items"], "status") == get_args(of_ports.SituationStatus)
    assert words(identify["answer"], "told") == get_args(Told)


def test_what_schemas_share_is_the_same_in_each() -> None:
    parts: dict[str, Any] = {}
    for command in COMMANDS:
        for name, part in schema(command)["$defs"].items():
            if name not in ("several", "report"):
                assert parts.setdefault(name, part) == part


def as_published(current: Any, published: Any) -> Any:
    """Return a schema without what was added since: keys of objects, definitions, and words about them."""
    if isinstance(published, list) and isinstance(current, list) and len(current) == len(published):
        return [as_published(*pair) for pair in zip(current, published, strict=True)]
    if not isinstance(published, dict) or not isinstance(current, dict):
        return current
    kept = {name: part for name, part in current.items() if name not in ANNOTATIONS}
    if isinstance(published.get("properties"), dict) and "required" in kept:
        kept["required"] = [name for name in kept["required"] if name in published["properties"]]
    for names in ("properties", "$defs"):
        if isinstance(published.get(names), dict) and isinstance(kept.get(names), dict):
            kept[names] = {
                name: as_published(part, published[names][name])
                for name, part in kept[names].items()
                if name in published[names]
            }
    return {
        name: as_published(part, published[name]) if name in published and name not in ("properties", "$defs") else part
        for name, part in kept.items()
    }


def without_words(published: Any) -> Any:
    return as_published(published, published)


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_a_published_schema_holds_for_what_is_written_now(file: Path) -> None:
    """Nothing that a published schema says is withdrawn: later reports have its keys, types and words."""
    command, _, version = file.stem.partition(".")[0].partition("-")
    published = json.loads(file.read_text("utf-8"))
    assert as_published(schema(command, int(version)), published) == without_words(published)


def test_what_breaks_the_promise_is_found() -> None:
    published = schema("check")
    law = ("$defs", "law")

    def changed(change: Callable[[dict[str, Any]], Any], *path: str) -> bool:
        current = part = deepcopy(published)
        for name in path:
            part = part[name]
        change(part)
        return bool(as_published(current, published) != without_words(published))

    assert not changed(lambda part: None)
    assert not changed(lambda part: part["properties"].update(news={"type": "string"}), *law)
    assert not changed(lambda part: part["required"].append("news"), *law)
    assert not changed(lambda part: part.update(description="In other words."), *law)
    assert changed(lambda part: part["properties"].pop("reason"), *law)
    assert changed(lambda part: part["required"].remove("reason"), *law)
    assert changed(lambda part: part["properties"].update(reason={"type": "integer"}), *law)
    assert changed(lambda part: part["properties"]["status"]["enum"].append("perhaps"), *law)
    assert changed(lambda part: part["properties"]["reason"].update(type=["string", "null"]), *law)
