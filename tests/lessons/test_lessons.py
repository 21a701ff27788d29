"""The fourteen lessons: they run, assert their claims, break where they say so, and name only what exists."""

from __future__ import annotations

import ast
import json
import re
import time
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.lessons.course import Lesson, UnusableLesson, course, read_lesson
from veriformer.lessons.exercises import exercises, lesson_titles
from veriformer.lessons.formulas_in_text import as_code, formulas_in
from veriformer.lessons.notebooks import write_notebooks
from veriformer.lessons.pages import lesson_pages
from veriformer.lessons.running import Shown, run
from veriformer.pictures.formulas import mathml
from veriformer.spec.derivations import load_derivation
from veriformer.spec.seeds import claims

SEEDS = Path(__file__).parents[2] / "docs" / "seeds"
COURSE = Path(__file__).parents[2] / "lessons" / "course"
SECTIONS = [
    "The question",
    "A picture",
    "The claim",
    "Why it holds",
    "An experiment",
    "Where it breaks",
    "The exercise",
    "What goes wrong here",
]
IDS = list(lesson_titles())
# A line of each lesson's breaking experiment, and the same with the assumption restored.
RESTORED = {
    "dot_products": ("itself = {64 * value**2: Fraction(1) for value in signs}", "itself = score_of_signs(64)"),
    "softmax": ("assert slope([size, size]) == 0.25", "assert slope([size, -size]) == 0.25"),
    "attention": ("np.exp(logits).sum(axis=0, keepdims=True)", "np.exp(logits).sum(axis=1, keepdims=True)"),
    "masks": ("softmax(np.array([0.0, 0.0 - 10]))", "softmax(np.array([0.0, -np.inf]))"),
    "heads": ("permuted = merge_heads(heads[:, ::-1]) @ W_O", "permuted = merge_heads(heads) @ W_O"),
    "positions": ("W = np.diag([1.0, 0.0])", "W = np.eye(2)"),
    "norms": ("return h + f(h)", "return x + f(h)"),
    "feed_forward": ("b_i = generator.normal(size=(3, 6))", "b_i = generator.normal(size=(1, 6))"),
    "encoder_decoder": (
        "return encoder(tokens, bidirectional, bert) @ bidirectional.embedding.T",
        "return causal_model(tokens)",
    ),
    "training": ("cross_entropy(softmax(certain), first)", "cross_entropy(certain, first)"),
    "training_step": (
        "own = [clip_by_global_norm([one], max_norm=1.0)[0] for one in pair]",
        "own = clip_by_global_norm(pair, max_norm=1.0)",
    ),
    "decoding": ("positions=np.array([0])", "positions=np.array([5])"),
    "cost": ("mean = (first[0] + second[0]) / 2", "mean = merged"),
    "rounding": ("ones = np.float16(0)", "ones = np.float32(0)"),
}


@cache
def shown(identifier: str) -> tuple[list[Shown], float]:
    start = time.process_time()
    return list(run(course()[identifier])), time.process_time() - start


def prose(lesson: Lesson) -> str:
    return "\n".join(part.text for part in lesson.parts if not part.info)


def section(lesson: Lesson, title: str) -> list[str]:
    """Return the code of the blocks of a section that run."""
    inside, blocks = False, []
    for part in lesson.parts:
        if not part.info:
            headings = re.findall(r"^## (.+)$", part.text, re.MULTILINE)
            inside = headings[-1] == title if headings else inside
        elif part.runs and inside:
            blocks.append(part.text)
    return blocks


def asserts(code: str) -> bool:
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Attribute) and node.attr.startswith("assert_"))
        for node in ast.walk(ast.parse(code))
    )


def test_every_lesson_of_the_course_is_written() -> None:
    assert list(course()) == IDS
    assert {name for lesson in course().values() for name in lesson.exercises} == set(exercises())
    assert {lesson.id: lesson.title for lesson in course().values()} == {
        name: title.title for name, title in lesson_titles().items()
    }


@pytest.mark.parametrize("identifier", IDS)
def test_a_lesson_has_its_sections(identifier: str) -> None:
    lesson = course()[identifier]
    assert re.findall(r"^# (.+)$", prose(lesson), re.MULTILINE) == [lesson.title]
    assert re.findall(r"^## (.+)$", prose(lesson), re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("identifier", IDS)
def test_a_lesson_runs_and_draws(identifier: str) -> None:
    parts, seconds = shown(identifier)
    assert seconds < 20
    assert any(one.picture for one in parts)
    assert not re.search(r"0x[0-9a-f]{6}|np\.float", "".join(one.printed for one in parts))


@pytest.mark.parametrize("identifier", IDS)
def test_claims_experiments_and_breaks_are_asserted(identifier: str) -> None:
    lesson = course()[identifier]
    for title in ("The claim", "An experiment", "Where it breaks"):
        blocks = section(lesson, title)
        assert blocks and any(asserts(code) for code in blocks), title
    breaking = [part.text for part in lesson.parts if part.info == "python breaks"]
    assert set(section(lesson, "Where it breaks")) & set(breaking)
    assert all(asserts(code) for code in breaking)


@pytest.mark.parametrize("identifier", IDS)
def test_with_the_assumption_restored_nothing_breaks(identifier: str) -> None:
    line, restored = RESTORED[identifier]
    (file,) = COURSE.glob(f"[0-9][0-9]_{identifier}.md")
    text = file.read_text(encoding="utf-8")
    assert text.count(line) == 1
    with pytest.raises(UnusableLesson, match=r"line \d+ raises AssertionError"):
        list(run(read_lesson(text.replace(line, restored), file.name)))


@pytest.mark.parametrize("identifier", IDS)
def test_the_steps_that_are_named_are_those_of_the_derivations(identifier: str) -> None:
    lesson = course()[identifier]
    steps = [step.name for name in lesson.derivations for step in load_derivation(name).steps]
    named = re.findall(r"step (\d+), \*\*(.+?)\*\*", re.sub(r"\s+", " ", prose(lesson)))
    assert len(named) >= 5
    counts = [len(load_derivation(name).steps) for name in lesson.derivations]
    ranges = re.search(r"Steps 1 to (\d+) are those of.*?\.", re.sub(r"\s+", " ", prose(lesson)))
    assert bool(ranges) == (len(counts) > 1)
    if ranges:
        ends = [int(number) for number in re.findall(r"\bto (\d+)", ranges[0])]
        assert ends == list(accumulate(counts[:-1]))
    assert [(number, steps[int(number) - 1]) for number, _ in named] == named


@pytest.mark.parametrize("identifier", IDS)
def test_mistakes_and_exercises_are_in_the_text_with_issues_of_the_catalogue(identifier: str) -> None:
    lesson = course()[identifier]
    cited = {citation.issue for name in lesson.mistakes for citation in catalogue()[name].citations}
    assert set(re.findall(r"`([\w.-]+/[\w.-]+#\d+)`", prose(lesson))) <= cited
    unnamed = {name for name in (*lesson.exercises, *lesson.mistakes) if f"`{name}`" not in prose(lesson)}
    assert not unnamed


@pytest.mark.parametrize("identifier", IDS)
def test_quotations_stand_in_the_audited_texts(identifier: str) -> None:
    known = {claim.id for claim in claims()}
    for paragraph in re.split(r"\n\s*\n", prose(course()[identifier])):
        cited = re.findall(r"\b(00[0-4]\.\d+)\b", paragraph)
        assert set(cited) <= known
        for quoted in re.findall(r"“([^”$]+)”", paragraph) if cited else ():
            texts = [plainly((SEEDS / f"{one[:3]}.txt").read_text(encoding="utf-8")) for one in cited]
            assert any(plainly(quoted).lower() in text.lower() for text in texts), quoted


def plainly(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_what_is_wrong_or_imprecise_in_the_texts_is_used() -> None:
    cited = {one for lesson in course().values() for one in re.findall(r"\b00[0-4]\.\d+\b", prose(lesson))}
    wrong = {claim.id for claim in claims() if claim.verdict in ("wrong", "imprecise", "conditional")}
    assert len(cited & wrong) >= 40


@pytest.mark.parametrize("identifier", IDS)
def test_every_formula_is_mathematics_in_a_browser_and_a_line_in_a_terminal(identifier: str) -> None:
    text = prose(course()[identifier])
    formulas = formulas_in(text)
    assert formulas
    assert all(mathml(formula).startswith("<math") for formula in formulas)
    assert not re.search(r"\$|\\[a-z]", as_code(text))


def test_the_pages_have_output_pictures_and_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veriformer.lessons.pages.run", lambda lesson: shown(lesson.id)[0])
    pages = lesson_pages()
    assert len(pages) == len(IDS) + 1
    masks = pages["learn/04_masks.md"]
    assert "```text\nmoved: [False False False  True]\n```" in masks
    assert "[pbloem/former#10](https://github.com/pbloem/former/issues/10)" in masks
    (drawn,) = re.findall(r"^<div>$.*?^</div>$", masks, re.MULTILINE | re.DOTALL)
    assert "vf-" in drawn and "\n\n" not in drawn
    assert all(f"({path.removeprefix('learn/')})" in pages["learn/index.md"] for path in pages if "index" not in path)


def test_notebooks_are_valid(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    written = write_notebooks(tmp_path / "notebooks")
    assert [path.stem.partition("_")[2] for path in written] == IDS
    for path in written:
        nbformat.validate(json.loads(path.read_text(encoding="utf-8")))


def test_a_notebook_runs_in_a_kernel_and_draws(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    path = write_notebooks(tmp_path)[IDS.index("masks")]
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=120).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    assert printed == "".join(one.printed for one in shown("masks")[0])
    drawn = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(drawn) == sum(one.picture is not None for one in shown("masks")[0])
    assert "vf-" in drawn[0]
