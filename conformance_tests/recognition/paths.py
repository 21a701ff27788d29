"""Where a part is in the user's model and in the user's code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap

# What frameworks call a list of modules, or a dictionary of them.
_LISTS = ("ModuleList", "ModuleDict", "ParameterList", "List", "Dict")


def common_path(paths: Iterable[str]) -> str:
    """Return the longest path of modules that all paths begin with."""
    split = [path.split(".") for path in paths if path]
    if not split:
        return ""
    shared = []
    for pieces in zip(*split, strict=False):
        if len(set(pieces)) > 1:
            break
        shared.append(pieces[0])
    return ".".join(shared)


def path_of_maps(flow: Flow, maps: Sequence[LinearMap]) -> str:
    """Return the module that some maps are in: by their parameters, else by the modules that were running."""
    named = [name.rpartition(".")[0] for one in maps for name in one.names]
    if "" in named and any(named):
        # Some are the model's own, so that it is the part itself.
        return ""
    return common_path(named) or common_path(one.module for one in maps)


def without_lists(flow: Flow, path: str) -> str:
    """Return the nearest module that a path is in and that can run by itself: a list of modules cannot."""
    modules = flow.trace.modules
    while path and modules and modules.get(path, _LISTS[0]) in _LISTS:
        path = path.rpartition(".")[0]
    return path


def module_around(flow: Flow, path: str) -> str:
    """Return the module that a sublayer stands in; a layer itself stays as it is."""
    path = without_lists(flow, path)
    outer, _, last = path.rpartition(".")
    return path if last.isdigit() else without_lists(flow, outer)


def layer_in(path: str) -> int | None:
    """Return the first number in a path of modules; None where there is none."""
    found = re.search(r"(?:^|[._])(\d+)(?:[._]|$)", path)
    return int(found.group(1)) if found else None


def code_of(flow: Flow, place: int) -> tuple[str, int]:
    """Return file and line of the user's code behind a step, or behind the nearest one before it that tells."""
    for index in range(min(place, len(flow.steps) - 1), -1, -1):
        step = flow.steps[index]
        if step.file:
            return step.file, step.line
    return "", 0


# What people call the parts of an attention, in the pieces of a parameter's name.
_NAMED: tuple[tuple[frozenset[str], StepName], ...] = (
    (frozenset({"q", "query", "queries", "wq", "to_q"}), "query"),
    (frozenset({"k", "key", "keys", "wk", "to_k"}), "key"),
    (frozenset({"v", "value", "values", "wv", "to_v"}), "value"),
    (frozenset({"sink", "sinks"}), "weights"),
)


def is_of_positions(name: str) -> bool:
    """Return whether a table is called as one of positions is: "wpe.weight", "pos_embed", "positional.table"."""
    pieces = (re.split(r"[_\d]+|(?<=[a-z])(?=[A-Z])", piece) for piece in name.split("."))
    return any(piece.lower().startswith("pos") or piece.lower() in ("wpe", "pe") for one in pieces for piece in one)


def step_by_name(name: str) -> StepName | None:
    """Return the step that a parameter is called after; None where its name says nothing. Names only propose."""
    for piece in reversed(name.split(".")):
        words = set(re.split(r"[_\d]+|(?<=[a-z])(?=[A-Z])", piece.lower())) | {piece.lower()}
        for called, step in _NAMED:
            if words & called:
                return step
    return None
