"""How well the course grades: planted mistakes and right programs, given as a student's answers.

    python benchmarks/lessons.py wrong [--workers 2] [--record FILE] [--only GLOB]
    python benchmarks/lessons.py right [--workers 2] [--record FILE] [--seeds 0-19] [--only GLOB] [--most 6]

`wrong`: every planted mistake of the exercises' operations is graded wrong, and the question that appears is that
of its mistake. `right`: right programs of the project, at most so many of each exercise, are graded right at each
seed. Both print what is not so, then a Markdown table. Programs run in the process of the measurement, as answers
in a notebook do, and the smallest case is not looked for. Results are kept in the record as they come, and a
repeated run takes them from it. Exit status 1 where a mistake is graded right, a right program wrong, or fewer than
90 % of the questions are those of the mistake.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

from veriformer.adapters.loading import load
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.mistakes import PlantedMistake, planted
from veriformer.lessons.checking import check_exercise
from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import exercises
from veriformer.lessons.hints import hints_of
from veriformer.lessons.outcome import Outcome
from veriformer.lessons.questions import questions

ROOT = Path(__file__).resolve().parents[1]
ASKED_RIGHT = 0.90
FEWEST_STYLES = 5
_OF_ONE_POOL = 100
_FOLDERS = (
    "conformance_tests/mistakes/sources",
    "docs/examples",
    "docs/examples/correct",
    "benchmarks/lessons_right",
)
# Whole libraries, as far as they have an operation.
_LIBRARIES = ("adapters/numpy.py", "adapters/torch.py", "adapters/jax.py")
# The README's example has a mistake; these lack what laws of an exercise are about.
_NOT_RIGHT = ("my_attention.py", "my_gpt.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("wrong", "right"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", default="0-19")
    parser.add_argument("--most", type=int, default=6, help="programs of one exercise")
    parser.add_argument("--only", default="*", help="a glob over names of mistakes, or of exercises")
    given = parser.parse_args(arguments)
    jobs = _wrong_jobs(given.only) if given.what == "wrong" else _right_jobs(given.only, given.seeds, given.most)
    results = list(_results(jobs, given.workers, given.record))
    return _report_wrong(results) if given.what == "wrong" else _report_right(results)


Job = tuple[str, str, str, int]
"""Its name, the exercise, the program (a planted name or a path), the seed."""


def _wrong_jobs(only: str) -> list[Job]:
    jobs = []
    for mistake in planted():
        exercise = _exercise_of(mistake)
        if exercise is not None and fnmatchcase(mistake.name, only):
            jobs.append((mistake.name, exercise.id, "", 0))
    return jobs


def _exercise_of(mistake: PlantedMistake) -> Exercise | None:
    """Return the exercise that a program is an answer to: that of the first operation in which it is wrong."""
    for operation in mistake.operations:
        # The exercise with most of the interface: a module that takes x alone would hide mistakes.
        found = [one for one in exercises().values() if one.operation == operation]
        if found:
            return found[-1]
    return None


def _right_jobs(only: str, seeds: str, most: int) -> list[Job]:
    """Return the grades, seed by seed, so that a run that is cut short has seen every program."""
    first, _, last = seeds.partition("-")
    chosen = [
        (exercise.id, path.relative_to(ROOT))
        for exercise in exercises().values()
        if exercise.kind == "operation" and fnmatchcase(exercise.id, only)
        for path in _right_programs(exercise, most)
    ]
    numbers = range(int(first), int(last or first) + 1)
    return [(f"{name} {path} {seed}", name, str(path), seed) for seed in numbers for name, path in chosen]


def _right_programs(exercise: Exercise, most: int) -> list[Path]:
    """Return right programs of an exercise, those of different frameworks in turn."""
    paths = [path for folder in _FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]
    paths += [ROOT / library for library in _LIBRARIES]
    fitting = [path for path in paths if path.name not in _NOT_RIGHT and exercise.operation in _defined(path)]
    turns: dict[str, int] = defaultdict(int)
    ranked = []
    for path in fitting:
        framework = next((name for name in ("torch", "jax") if name in path.stem), "numpy")
        ranked.append((turns[framework], path))
        turns[framework] += 1
    return [path for _, path in sorted(ranked, key=lambda pair: pair[0])][:most]


def _defined(path: Path) -> set[str]:
    """Return the names that a program defines or imports at its top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _results(jobs: list[Job], workers: int, record: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the result of each job, those of the record first."""
    known = _known(record)
    yield from (known[job[0]] for job in jobs if job[0] in known)
    left = [job for job in jobs if job[0] not in known]
    # In no order, so that a run that is cut short has seen something of everything.
    Random(0).shuffle(left)
    # What JAX compiled stays in a process: after some hundred programs there is no room for more.
    for start in range(0, len(left), _OF_ONE_POOL):
        with ProcessPoolExecutor(workers) as pool:
            for future in as_completed([pool.submit(_graded, job) for job in left[start : start + _OF_ONE_POOL]]):
                result = future.result()
                if record is not None:
                    with record.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(result) + "\n")
                yield result


def _known(record: Path | None) -> dict[str, dict[str, Any]]:
    if record is None or not record.exists():
        return {}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines}


def _graded(job: Job) -> dict[str, Any]:
    """Grade one program as a student's answer, in a folder of its own."""
    name, identifier, program, seed = job
    # A planted program need not have every keyword that the starter has.
    exercise = replace(exercises()[identifier], keywords=())
    started = time.monotonic()
    if program:
        outcome = _outcome(ROOT / program, exercise, seed)
    else:
        mistake = next(one for one in planted() if one.name == name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / exercise.file_name
            path.write_text(mistake.source_text(), encoding="utf-8")
            outcome = _outcome(path, exercise, seed)
    return {
        "name": name,
        "exercise": identifier,
        "program": program,
        "seed": seed,
        "state": outcome.state,
        "sentence": outcome.sentence,
        "law": outcome.law.law.id if outcome.law else "",
        "tried": outcome.tried,
        "mistakes": list(outcome.mistakes),
        "question": hints_of(outcome).question if outcome.law else "",
        "seconds": round(time.monotonic() - started, 2),
    }


def _outcome(path: Path, exercise: Exercise, seed: int) -> Outcome:
    return check_exercise(load(str(path)), exercise, seed=seed, shrink=False)


def _report_wrong(results: list[dict[str, Any]]) -> int:
    by_name = {one.name: one for one in planted()}
    table: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for result in sorted(results, key=lambda one: one["name"]):
        mistake = by_name[result["name"]]
        wrong = result["state"] == "broken"
        asked = result["question"] == questions()[mistake.slug]
        table[f"{result['exercise']}"].append((wrong, asked))
        if not (wrong and asked):
            said = ", ".join(result["mistakes"]) or "nothing known"
            print(f"{mistake.name}: {result['state']} {result['sentence']} {result['law']}; named {said}")
    print("\n| exercise | wrong programs | graded wrong | the mistake's own question |\n| --- | --- | --- | --- |")
    for exercise in (one for one in exercises() if one in table):
        print(_row(exercise, table[exercise]))
    every = [pair for pairs in table.values() for pair in pairs]
    print(_row("**all**", every))
    print(f"\n{_by_framework(results, by_name)}")
    return int(not all(wrong for wrong, _ in every) or sum(asked for _, asked in every) < ASKED_RIGHT * len(every))


def _row(name: str, pairs: Sequence[tuple[bool, bool]]) -> str:
    asked = sum(asked for _, asked in pairs)
    share = f"{asked} ({100 * asked / len(pairs):.0f} %)" if pairs else "0"
    return f"| {name} | {len(pairs)} | {sum(wrong for wrong, _ in pairs)} | {share} |"


def _by_framework(results: Iterable[dict[str, Any]], by_name: dict[str, PlantedMistake]) -> str:
    frameworks: dict[str, int] = defaultdict(int)
    for result in results:
        frameworks[by_name[result["name"]].framework] += 1
    return ", ".join(f"{number} {name}" for name, number in sorted(frameworks.items()))


def _report_right(results: list[dict[str, Any]]) -> int:
    styles: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda one: one["name"]):
        right = result["state"] == "done"
        styles[result["exercise"]][result["program"]].append(right)
        if not right:
            print(f"{result['name']}: {result['state']} {result['sentence']} {result['law']} {result['mistakes']}")
    print("\n| exercise | right programs | grades | right |\n| --- | --- | --- | --- |")
    for exercise in (one for one in exercises() if one in styles):
        grades = [grade for own in styles[exercise].values() for grade in own]
        print(f"| {exercise} | {len(styles[exercise])} | {len(grades)} | {sum(grades)} |")
    grades = [grade for own in styles.values() for program in own.values() for grade in program]
    print(f"| **all** | {sum(map(len, styles.values()))} | {len(grades)} | {sum(grades)} |")
    few = [name for name, own in styles.items() if len(own) < FEWEST_STYLES]
    print(f"\n{counted(len(few), 'exercise')} with fewer than {FEWEST_STYLES} programs: {', '.join(few) or 'none'}")
    return int(not all(grades) or bool(few))


if __name__ == "__main__":
    sys.exit(main())
