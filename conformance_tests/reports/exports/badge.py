"""A badge for a README: the JSON from which shields.io draws one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.reports.changes.recorded import recorded

LABEL = "veriformer"


def badge(objects: Sequence[dict[str, Any]]) -> str:
    """Return the badge of a report of check, as JSON; KeyError, TypeError or AttributeError where it is none.

    It is red if anything is violated, grey if something could not be judged or was not tried, and green otherwise.
    Format: https://shields.io/badges/endpoint-badge
    """
    verdicts = {one["verdict"] for one in objects}
    outcomes = [outcome for one in recorded(list(objects), "check").subjects.values() for outcome in one.values()]
    stale = sum(len(one["stale"]) for one in objects)
    # What is broken and absent where it is right is no law, but a place where a model departs.
    broken = sum(outcome.status == "broken" and outcome.absent == "untried" for outcome in outcomes)
    departures = sum(outcome.status == "broken" and outcome.absent == "held" for outcome in outcomes)
    held = sum(one["counts"]["passed"] for one in objects)
    if "violates" in verdicts:
        return _written(_what_is_wrong(broken, held, departures, stale), "red")
    if verdicts <= {"conforms"}:
        return _written(f"{counted(held, 'law')} {'holds' if held == 1 else 'hold'}", "brightgreen")
    return _written("not judged" if held == 0 else "not judged completely", "lightgrey")


def _what_is_wrong(broken: int, held: int, departures: int, stale: int) -> str:
    found = (
        counted(departures, "departure") if departures else "",
        f"{broken:,} of {counted(broken + held, 'law')} broken" if broken else "",
        counted(stale, "stale exception") if stale and not broken else "",
    )
    return ", ".join(filter(None, found))


def _written(message: str, color: str) -> str:
    return json.dumps({"schemaVersion": 1, "label": LABEL, "message": message, "color": color}) + "\n"
