"""What `veriformer` says of faults that were reported at public repositories, and what allclose sees of them.

    python benchmarks/historical.py [NAME ...] [--jobs 1] [--json FILE] [--markdown FILE]
    python benchmarks/historical.py --read benchmarks/historical/outcomes.json --markdown docs/historical.md

The faults are those of `historical/kit.toml`, each rewritten small as two programs that differ in the fault alone. Each
program runs through the command line in a process of its own: functions and models through `veriformer check`, ports
through `veriformer compare` with their original. A fault counts as caught where the exit status is 1 for the faulty
form and not for the mended one; as placed where the first place that is given is the fault's: the function or line that
was changed, the part of a model, either side of a port; as named where the first suspect of an operation, or the first
cause, is a mistake that the fault counts as.
Beside it stands what `allclose` sees, at the tolerance of the project concerned, between the two programs on one
ordinary input (`historical/examples.py`). Prints the totals, a table, and what was not caught. Exit status 1 where a
mended program is accused. With `--read`, nothing is run: the outcomes are those that `--json` wrote before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
sys.path.insert(0, str(Path(__file__).parent / "models"))
sys.path.insert(0, str(Path(__file__).parent / "historical"))

from examples import seen_by_allclose
from model_faults import is_near
from pages.markdown import table
from places import changed_function, changed_lines
from port_faults import normal

FOLDER = Path(__file__).resolve().parent / "historical"
PROGRAMS = FOLDER / "programs"
KINDS = ("function", "model", "port")
HEADER = ("fault", "reported", "kind", "caught", "placed", "named", "seconds", "allclose", "mended")


@dataclass(frozen=True)
class Fault:
    """A fault that was reported: where, what it was, and what a right answer about it says.

    `part` is that of a model or a port; "" for a function, whose place is where the two programs differ. `slugs` is
    empty where the catalogue has no such mistake; `causes` are words by which `compare` names a cause that is a
    convention or how weights are arranged. `tolerance` says where `rtol` and `atol` come from.
    """

    id: str
    kind: str
    repository: str
    number: int
    url: str
    year: int
    title: str
    slugs: tuple[str, ...]
    rtol: float
    atol: float
    tolerance: str
    part: str = ""
    parts_of_port: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        """The report as it is cited."""
        return f"{self.repository}#{self.number}"

    def program(self, form: str) -> Path:
        """Return the file of one of the forms: faulty, mended, or the original of a port."""
        return PROGRAMS / f"{self.id}_{form}.py"

    def words(self, form: str) -> list[str]:
        """Return the command of veriformer that judges the faulty or the mended form."""
        program = str(self.program(form))
        if self.kind == "function":
            return ["check", program]
        if self.kind == "model":
            return ["check", f"{program}:build"]
        return ["compare", f"{self.program('original')}:build", f"{program}:build"]


@dataclass(frozen=True)
class Answer:
    """What was said of one program: its exit status, the first place and line, and the first suspects or causes."""

    status: int
    seconds: float
    judged: bool = False
    paths: tuple[str, ...] = ()
    line: int = 0
    names: tuple[str, ...] = ()
    sentence: str = ""

    def __str__(self) -> str:
        """Return the exit status and what was said."""
        return f"{self.status}, {self.sentence}" if self.sentence else str(self.status)

    @property
    def accused(self) -> bool:
        """Whether the program is said to be wrong."""
        return self.status == 1


@dataclass(frozen=True)
class Outcome:
    """What was said of both forms of a fault, and whether allclose sees that they differ."""

    fault: Fault
    faulty: Answer
    mended: Answer
    allclose_sees: bool

    @property
    def caught(self) -> bool:
        """Whether the faulty program is said to be wrong, and the mended one not."""
        return self.faulty.accused and not self.mended.accused

    @property
    def placed(self) -> bool:
        """Whether the first place is that of the fault."""
        if not self.caught:
            return False
        if self.fault.kind == "function":
            faulty, mended = (self.fault.program(form) for form in ("faulty", "mended"))
            return self.faulty.line in {*changed_lines(faulty, mended), changed_function(faulty, mended)}
        parts = [normal(part) for part in (self.fault.part, *self.fault.parts_of_port)]
        # Flax keeps what belongs to modules under the name of its collection.
        paths = [normal(path).removeprefix("params.") for path in self.faulty.paths if path]
        return any(is_near(path, part) for path in paths for part in parts)

    @property
    def named(self) -> bool | None:
        """Whether a first suspect is the mistake; None where the catalogue has no name for it."""
        if not (self.fault.slugs or self.fault.causes):
            return None
        words = (word for name in self.faulty.names for word in self.fault.causes if word in name)
        return self.caught and (bool({*self.faulty.names} & {*self.fault.slugs}) or any(words))


def faults(names: Sequence[str] = ()) -> list[Fault]:
    """Return the faults of the kit whose id is one of the names, begins with one, or fits a glob; all without names."""
    entries = tomllib.loads((FOLDER / "kit.toml").read_text(encoding="utf-8"))["fault"]
    every = [Fault(**_with_tuples(one)) for one in entries]
    return [one for one in every if not names or any(fnmatchcase(one.id, f"{name}*") for name in names)]


def answer(fault: Fault, form: str) -> Answer:
    """Return what the command line says of one form."""
    with TemporaryDirectory() as folder:
        report, sarif = Path(folder) / "report.json", Path(folder) / "report.sarif"
        command = [sys.executable, "-m", "veriformer", *fault.words(form), "--json", str(report), "--sarif", str(sarif)]
        started = time.monotonic()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
        said = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        places = json.loads(sarif.read_text(encoding="utf-8")) if sarif.exists() else {}
    if not said:
        return Answer(run.returncode, seconds, sentence=_last_line(run.stderr or run.stdout))
    read = _of_port if fault.kind == "port" else _of_model if fault.kind == "model" else _of_function
    return Answer(run.returncode, seconds, line=_first_line(places), **read(said))


def _of_function(said: dict[str, Any]) -> dict[str, Any]:
    # A file of which several functions are one operation is judged once for each.
    reports = said.get("reports", [said])
    first = {
        (n, one["operation"]): one["mistake"] for n, report in enumerate(reports) for one in report["diagnosis"][::-1]
    }
    broken = [law["id"] for report in reports for law in report["laws"] if law["status"] in ("failed", "error")]
    left = [f"{name}: {why}" for report in reports for name, why in report["not_judged"].items()]
    judged = any(report["counts"]["passed"] for report in reports)
    return {"judged": judged, "names": tuple(first.values()), "sentence": "; ".join([*broken[:3], *left])}


def _of_model(said: dict[str, Any]) -> dict[str, Any]:
    departures = said["departures"] or said["differences"]
    laws = [
        {"path": "", "sentence": law["id"], "diagnosis": law["diagnosis"]}
        for law in said["laws"]
        if law["status"] == "failed"
    ]
    found = [*departures, *(one for one in said["bound"] if one["broken"]), *laws]
    if not found:
        share = said["share"]["understood"]
        return {"judged": share > 0, "sentence": f"{100 * share:.0f} % of steps understood"}
    first = found[0]
    names = tuple(one["mistake"] for one in first.get("diagnosis", [])[:1])
    sentence = first.get("sentence") or ", ".join(first.get("broken", []))
    return {"judged": True, "paths": (first["path"],), "names": names, "sentence": sentence}


def _of_port(said: dict[str, Any]) -> dict[str, Any]:
    found = said["departures"] or said["inside"]
    judged = said["verdict"] in ("agree", "differ", "inside")
    if not found:
        return {"judged": judged, "sentence": said["verdict"]}
    first = found[0]
    paths = (first["path_a"], first["path_b"])
    return {
        "judged": judged,
        "paths": paths,
        "names": (first["cause"]["name"],),
        "sentence": first["cause"]["sentence"],
    }


def _first_line(places: dict[str, Any]) -> int:
    results = [result for run in places.get("runs", []) for result in run["results"]]
    located = [result["locations"][0]["physicalLocation"] for result in results if result.get("locations")]
    return next((one["region"]["startLine"] for one in located if "region" in one), 0)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def outcome(fault: Fault) -> Outcome:
    """Return what is said of both forms of a fault."""
    return Outcome(fault, answer(fault, "faulty"), answer(fault, "mended"), seen_by_allclose(fault))


def outcomes(chosen: Sequence[Fault], jobs: int) -> Iterable[Outcome]:
    """Yield what is said of some faults in their order, each told on the error stream as it comes."""
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(outcome, chosen):
            print(" | ".join(row(found)), file=sys.stderr, flush=True)
            yield found


def totals(found: Sequence[Outcome]) -> str:
    """Return the table of totals: by kind, of all, and by whether the catalogue of mistakes cites the report."""
    cited = cited_reports()
    groups = [(kind, [one for one in found if one.fault.kind == kind]) for kind in KINDS]
    groups += [("all", list(found))]
    groups += [("cited in the catalogue", [one for one in found if one.fault.report in cited])]
    groups += [("others", [one for one in found if one.fault.report not in cited])]
    header = ("kind", "taken", "caught", "placed", "named", "mended accused", "mended not judged", "seen by allclose")
    return table(header, [_total(name, some) for name, some in groups])


def _total(name: str, some: Sequence[Outcome]) -> tuple[str, ...]:
    known = [one for one in some if one.named is not None]
    caught, placed, seen = (sum(getattr(one, word) for one in some) for word in ("caught", "placed", "allclose_sees"))
    accused, unjudged = (sum(kind_of(one.mended) == word for one in some) for word in ("accused", "not judged"))
    named = f"{sum(one.named is True for one in known)} of {len(known)}"
    return (name, str(len(some)), str(caught), str(placed), named, str(accused), str(unjudged), str(seen))


def cited_reports() -> set[str]:
    """Return the reports that the catalogue of mistakes cites, such as "mlc-ai/mlc-llm#3426"."""
    from veriformer.conformance_tests.mistakes import catalogue  # slow, and of no use where only help is asked for

    return {citation.issue for mistake in catalogue().values() for citation in mistake.citations}


def kind_of(mended: Answer) -> str:
    """Return what was said of a mended program in words."""
    if mended.accused:
        return "accused"
    return "holds" if mended.status == 0 and mended.judged else "not judged"


def row(one: Outcome) -> tuple[str, ...]:
    """Return the row of a fault."""
    fault = one.fault
    words = {True: "✓", False: "✗", None: "—"}
    return (
        fault.title,
        f"[{fault.report}]({fault.url}), {fault.year}",
        fault.kind,
        words[one.caught],
        words[one.placed],
        words[one.named],
        f"{one.faulty.seconds:.0f}",
        "differs" if one.allclose_sees else "the same",
        kind_of(one.mended),
    )


def page(found: Sequence[Outcome]) -> str:
    """Return the page of the documentation."""
    missed = [f"- {one.fault.title} (`{one.fault.id}`): {_why_missed(one)}." for one in found if not one.caught]
    cited = sum(one.fault.report in cited_reports() for one in found)
    told = (FOLDER / "page.md").read_text(encoding="utf-8")
    figures = {"totals": totals(found), "table": table(HEADER, map(row, found)), "cited": cited, "taken": len(found)}
    return told.format(**figures, missed="\n".join(missed) or "None.")


def _why_missed(one: Outcome) -> str:
    if one.faulty.accused:
        return f"the {one.fault.kind} is accused, and its mended form too"
    said = "is said to hold" if one.faulty.status == 0 else "is not judged"
    return f"the {one.fault.kind} {said}"


def main(words: Sequence[str] | None = None) -> int:
    """Run the kit; 1 where a mended program is accused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="ids of faults, their beginnings, or globs; all without")
    parser.add_argument("--jobs", type=int, default=1, help="how many faults are run at a time")
    parser.add_argument("--json", type=Path, help="a file for the outcomes, written after each")
    parser.add_argument("--read", type=Path, help="a file of outcomes that is shown, instead of running the kit")
    parser.add_argument("--markdown", type=Path, help="a file for the page, such as docs/historical.md")
    options = parser.parse_args(words)
    chosen = faults(options.names)
    if not chosen:
        parser.error(
            f"no fault is called {' or '.join(options.names)}; there are {', '.join(one.id for one in faults())}"
        )
    found = read(options.read, chosen) if options.read else []
    for one in () if options.read else outcomes(chosen, options.jobs):
        found.append(one)
        if options.json:
            text = json.dumps([_record(each) for each in found], indent=1, ensure_ascii=False)
            options.json.write_text(text + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page(found), encoding="utf-8")
    print(totals(found), table(HEADER, map(row, found)), sep="\n\n")
    for one in found:
        if not one.caught or kind_of(one.mended) != "holds":
            print(f"- {one.fault.id}: faulty {one.faulty}; mended {one.mended}")
    return 1 if any(one.mended.accused for one in found) else 0


def _record(one: Outcome) -> dict[str, Any]:
    answers = {"faulty": asdict(one.faulty), "mended": asdict(one.mended)}
    for answer_of_form in answers.values():
        answer_of_form["seconds"] = round(answer_of_form["seconds"], 1)
        answer_of_form["sentence"] = answer_of_form["sentence"].replace(f"{PROGRAMS}/", "")
    said = {"caught": one.caught, "placed": one.placed, "named": one.named, "allclose_sees": one.allclose_sees}
    return {"id": one.fault.id, **said, **answers}


def read(file: Path, chosen: Sequence[Fault]) -> list[Outcome]:
    """Return the outcomes of some faults that a file holds."""
    records = {one["id"]: one for one in json.loads(file.read_text(encoding="utf-8"))}
    found = [(fault, records[fault.id]) for fault in chosen if fault.id in records]
    return [
        Outcome(fault, _answer(one["faulty"]), _answer(one["mended"]), one["allclose_sees"]) for fault, one in found
    ]


def _answer(record: dict[str, Any]) -> Answer:
    return Answer(**_with_tuples(record))


def _with_tuples(record: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


if __name__ == "__main__":
    sys.exit(main())
