"""The catalogue of exercises, the order of their laws, and the files that a learner begins with."""

from __future__ import annotations

import ast
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import UnknownExercise, exercise_called, exercises, lesson_titles
from veriformer.lessons.starters import FRAMEWORKS, Framework, starter, write_starters
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

PROGRAMS = [exercise for exercise in exercises().values() if exercise.kind == "operation"]
# With weights of its own, and of training, what the lessons do not teach yet.
NOT_IN_THE_COURSE = {
    "model",
    "training_steps",
    "dropout",
    "warmup_cosine_learning_rate",
    "warmup_inverse_root_learning_rate",
    "initial_weights",
}


def before(exercise: Exercise, weak: str, strong: str) -> bool:
    keys = [law.partition(".")[2] for law in exercise.laws]
    return keys.index(weak) < keys.index(strong)


def test_every_operation_of_the_interface_has_an_exercise() -> None:
    forward = {name for name, operation in OPERATIONS.items() if not operation.forward}
    assert {exercise.operation for exercise in PROGRAMS} == forward - NOT_IN_THE_COURSE


def test_exercises_belong_to_lessons_and_come_after_what_they_need() -> None:
    seen: set[str] = set()
    for exercise in exercises().values():
        assert exercise.lesson in lesson_titles()
        assert set(exercise.after) <= seen, exercise.id
        seen.add(exercise.id)


def test_every_law_of_an_operation_grades_its_exercise_once() -> None:
    for exercise in PROGRAMS:
        own = [law.id for law in LAWS.values() if law.operation.name in exercise.operations]
        assert sorted(exercise.laws) == sorted(own)


def test_weak_laws_come_before_strong_ones() -> None:
    attention = exercises()["scaled_dot_product_attention"]
    order = ["shape", "single_key", "keys.equal", "mask.no_share", "keys.permutation", "values.hull", "scale"]
    order += ["causal.no_future_leak", "worked_examples", "mask.value", "history_independence"]
    assert all(before(attention, weak, strong) for weak, strong in pairwise(order))


def test_gradients_come_last() -> None:
    laws = exercises()["scaled_dot_product_attention"].laws
    backward = [law for law in laws if law.startswith("attention_backward.")]
    assert backward
    assert laws[-len(backward) :] == tuple(backward)


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(UnknownExercise, match="did you mean 'layer_norm'"):
        exercise_called("layernorm")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_starter_has_the_signature_and_nothing_else(framework: Framework) -> None:
    for exercise in PROGRAMS:
        tree = ast.parse(starter(exercise, framework))
        functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        function = functions[exercise.operation]
        names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        assert names[: len(OPERATIONS[exercise.operation].positional)] == list(
            OPERATIONS[exercise.operation].positional
        )
        assert set(exercise.keywords) <= set(names)
        assert ast.unparse(tree).count("raise NotImplementedError") == 1


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text("mine")
    written, kept = write_starters(tmp_path, "numpy")
    assert kept == ["softmax.py"]
    assert (tmp_path / "softmax.py").read_text() == "mine"
    assert sorted([*written, *kept]) == sorted(exercise.file_name for exercise in exercises().values())


def test_questions_are_written_as_a_file_without_answers(tmp_path: Path) -> None:
    write_starters(tmp_path, "numpy")
    for exercise in exercises().values():
        if exercise.kind == "answers":
            assert set(tomllib.loads((tmp_path / exercise.file_name).read_text()).values()) == {""}
