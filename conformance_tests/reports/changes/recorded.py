"""What a report says, in the terms in which two reports are compared: an outcome for each thing that was judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["check", "compare", "identify"]
Status = Literal["held", "broken", "untried"]
_STATUSES: dict[str, Status] = {"passed": "held", "failed": "broken", "error": "broken"}
_OUTCOMES: dict[str, Status] = {"agree": "held", "part": "broken"}
_TOLD: dict[str, Status] = {"told": "held", "mistake": "broken", "contradicted": "broken"}
_LOADED = "it can be loaded"


@dataclass(frozen=True)
class Outcome:
    """What was found of one thing, and what it was called: a mistake, a cause, the value of a convention.

    `absent` is what it means that another report does not have the thing: a law was not tried, a place does not depart.
    """

    status: Status
    named: tuple[str, ...] = ()
    absent: Status = "untried"


Outcomes = Mapping[str, Outcome]


@dataclass(frozen=True)
class Recorded:
    """A report as it was read: its kind, and the outcomes of each implementation, model or pair of these."""

    kind: Kind
    subjects: Mapping[str, Outcomes]


def recorded(objects: list[dict[str, Any]], kind: Kind | None) -> Recorded:
    """Return what objects of JSON say; KeyError, TypeError or AttributeError where they are no report."""
    found = kind or _kind(objects)
    readers: dict[Kind, Callable[[dict[str, Any]], Outcomes]] = {
        "check": _checked,
        "compare": _compared,
        "identify": _identified,
    }
    read = readers[found]
    return Recorded(found, {_subject(one): read(one) for one in objects})


def _kind(objects: list[dict[str, Any]]) -> Kind:
    """Return the kind of objects that do not say it; one that could not be loaded may be of any."""
    for one in objects:
        if "first" in one:
            return "compare"
        if "laws" not in one and "conventions" in one:
            return "identify"
    return "check"


def _subject(one: dict[str, Any]) -> str:
    return f"{one['first']} and {one['second']}" if "first" in one else str(one["implementation"])


def _checked(one: dict[str, Any]) -> Outcomes:
    laws = one.get("laws", [])
    if one.get("reason") and not laws and "parts" not in one:
        return {_LOADED: Outcome("broken")}
    counting = _counting(one)
    found = {_LOADED: Outcome("held")}
    for law in laws:
        path = law.get("path") or ""
        status = _STATUSES.get(law["status"], "untried")
        # What a list expects, or correct models may do, is not held against anyone.
        if status == "broken" and (law.get("expected_failure") is not None or not counting(law, path)):
            status = "held"
        named = _named(one["diagnosis"], law["id"]) if status == "broken" else ()
        found[f"{path} {law['id']}".strip()] = Outcome(status, named)
    for departure in one.get("departures", []):
        suspects = departure["diagnosis"][:1]
        key = f"{departure['path'] or 'the model'}: {departure['step']}"
        found[key] = Outcome("broken", tuple(str(each["mistake"]) for each in suspects), "held")
    return found


def _counting(one: dict[str, Any]) -> Any:
    """Return the function that says whether a broken law counts: of a model not all do."""
    if "parts" not in one:
        return lambda law, path: True
    broken = {part["path"]: set(part["broken"]) for part in one["bound"]}
    return lambda law, path: (
        law["id"] in broken.get(path, ()) if path else (law["status"], law["tier"]) == ("failed", "must")
    )


def _named(diagnosis: list[dict[str, Any]], law: str) -> tuple[str, ...]:
    """Return the likeliest mistake that explains a law, with those that are made together with it."""
    for entry in diagnosis:
        if law in entry["laws"]:
            return tuple(sorted((str(entry["mistake"]), *map(str, entry["together_with"]))))
    return ()


def _compared(one: dict[str, Any]) -> Outcomes:
    if "operations" in one:
        return {each["operation"]: _operation(each) for each in one["operations"]}
    found = {"their results agree": Outcome("broken" if one["verdict"] == "differ" else "held")}
    for each in one["departures"]:
        situation = f" ({each['situation']})" if each["situation"] else ""
        key = f"{each['path_b'] or each['path_a'] or 'the model'}: {each['step']}{situation}"
        found[key] = Outcome("broken", (str(each["cause"]["name"]),), "held")
    return found


def _operation(one: dict[str, Any]) -> Outcome:
    mistakes = [str(entry["mistake"]) for side in ("first", "second") for entry in one["diagnosis"][side][:1]]
    conventions = [str(name) for parting in one["partings"] for name in parting["conventions"]]
    return Outcome(_OUTCOMES.get(one["status"], "untried"), tuple(dict.fromkeys((*mistakes, *conventions))))


def _identified(one: dict[str, Any]) -> Outcomes:
    if "conventions" not in one:
        return {_LOADED: Outcome("broken")}
    answers = {
        f"{each['convention']} of {each['operation']}": Outcome(_TOLD.get(each["told"], "untried"), (each["value"],))
        for each in one["conventions"]
    }
    return {_LOADED: Outcome("held"), **answers}
