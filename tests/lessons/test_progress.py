"""What a learner has done is kept in the folder, and a changed answer is no longer done."""

from __future__ import annotations

from pathlib import Path

import pytest
from veriformer.lessons.exercises import exercises
from veriformer.lessons.listing import course_lines
from veriformer.lessons.outcome import Outcome
from veriformer.lessons.progress import FILE, read_progress

SHAPES = exercises()["practice_shapes"]


def test_an_exercise_is_done_until_its_answer_changes(tmp_path: Path) -> None:
    path = tmp_path / SHAPES.file_name
    path.write_text("one")
    progress = read_progress(tmp_path)
    progress.record([Outcome(SHAPES, "done")])
    progress.save()
    assert read_progress(tmp_path).is_done(SHAPES)
    path.write_text("two")
    assert not read_progress(tmp_path).is_done(SHAPES)


def test_hints_come_one_after_the_other_and_begin_again_for_another_failure(tmp_path: Path) -> None:
    progress = read_progress(tmp_path)
    first, second = Outcome(SHAPES, "broken", "d_k: no"), Outcome(SHAPES, "broken", "w_q: no")
    assert [progress.next_layer(first, 3) for _ in range(4)] == [1, 2, 3, 3]
    progress.save()
    again = read_progress(tmp_path)
    assert again.next_layer(first, 3) == 3
    assert again.next_layer(second, 3) == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"exercises": 3}', '{"exercises": {"softmax": {}}}', "\x00"])
def test_a_file_that_is_no_record_counts_as_nothing_and_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    progress = read_progress(tmp_path)
    assert progress.unreadable
    assert any("cannot be read" in line.plain for line in course_lines(progress))


def test_the_course_shows_what_is_next(tmp_path: Path) -> None:
    first, second = list(exercises().values())[:2]
    (tmp_path / first.file_name).write_text("x")
    progress = read_progress(tmp_path)
    progress.record([Outcome(first, "done")])
    text = [line.plain for line in course_lines(progress)]
    assert any(line.split()[:2] == ["✓", first.id] for line in text)
    assert any(line.split()[:2] == ["→", second.id] for line in text)
    assert max(map(len, text)) <= 80 or str(tmp_path) in " ".join(text)
