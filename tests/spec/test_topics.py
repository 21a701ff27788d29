"""What belongs to a topic is found under its name, in every room."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from veriformer.conformance_tests import operations as judged
from veriformer.conformance_tests.operations.suites import suites
from veriformer.spec import laws, operations
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.topics import topics
from veriformer.spec.worked_examples import executable_examples


def names(package: object, having: str) -> set[str]:
    return {topic.__name__.rpartition(".")[2] for topic in topics(package, having)}


def test_a_topic_has_one_name_in_all_rooms() -> None:
    folders = {path.parent.name for path in Path(judged.__file__).parent.glob("*/suite.py")}
    assert len(folders) > 10
    assert names(operations, "OPERATIONS") == names(laws, "LAWS") == folders


def test_an_operation_is_of_one_topic_in_all_rooms() -> None:
    stated = {one.name: topic for topic in names(operations, "OPERATIONS") for one in of(operations, topic).OPERATIONS}
    assert set(stated) == set(OPERATIONS)
    assert all(stated[law.operation.name] == topic for topic in names(laws, "LAWS") for law in of(laws, topic).LAWS)
    assert all(suite.inputs.__module__.split(".")[-2] == stated[name] for name, suite in suites().items())


def of(package: object, topic: str) -> object:
    return importlib.import_module(f"{package.__name__}.{topic}")


def test_worked_examples_are_stated_of_the_operations_that_have_some() -> None:
    stated = {law.operation.name for law in LAWS.values() if law.claim.key == "worked_examples"}
    assert stated == {example.operation for example in executable_examples()}


def test_places_in_listings_are_not_shared() -> None:
    places = [operation.place for operation in OPERATIONS.values() if not operation.forward]
    assert places == sorted(set(places))


def test_a_backward_pass_is_listed_with_its_forward_pass() -> None:
    backward = [operation for operation in OPERATIONS.values() if operation.forward]
    assert len(backward) >= 10
    assert all(one.place == OPERATIONS[one.forward].place for one in backward)
    # The gradients of keywords are operations of their own, named after them, and come last.
    of_keywords = [one for one in backward if not {*one.differentiated} & {*one.positional}]
    assert [one.name for one in of_keywords] == ["attention_bias_backward", "attention_sinks_backward"]
    assert all(one.name == f"{one.forward}_backward" for one in backward if one not in of_keywords)
    order = list(OPERATIONS)
    assert all(order.index(one.forward) < order.index(one.name) for one in backward)
    assert all(order.index(f"{one.forward}_backward") < order.index(one.name) for one in of_keywords)


def test_a_topic_is_found_by_being_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "subject_of_topics"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "new.py").write_text("LAWS = (1, 2)\n")
    (package / "shared.py").write_text("OTHERS = ()\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("subject_of_topics")
    assert [topic.LAWS for topic in topics(found, "LAWS")] == [(1, 2)]
    for name in [name for name in sys.modules if name.startswith("subject_of_topics")]:
        monkeypatch.delitem(sys.modules, name)
