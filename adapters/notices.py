"""Sentences about names that look misspelt: what is not recognised is not declared, and the user should know."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from veriformer.adapters import signatures
from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.arrays import FRAMEWORKS
from veriformer.adapters.implementation import Callables
from veriformer.adapters.matching.forms import Adopted
from veriformer.adapters.matching.meant import is_along_first_of_several
from veriformer.adapters.matching.named_axes import says_columns
from veriformer.adapters.matching.names import suggested
from veriformer.adapters.matching.sources import may_be_input
from veriformer.adapters.spelling import closest
from veriformer.spec.extensions import installed
from veriformer.spec.operations import OPERATIONS

# A helper called log_softmax is not a misspelt softmax.
_NAME_CUTOFF = 0.85
# To someone who is learning it gives the answer away.
ALONG_FIRST_AXIS = (
    "softmax is judged along the last axis, and it computes along axis 0: if it takes one vector, or columns are "
    "its vectors, say so in its documentation"
)


def notices(
    found: object,
    operations: Callables,
    home: ModuleType | None = None,
    *,
    framework_found: bool = False,
    judged: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return a sentence for each misspelt name, operation merely imported, or framework used and not declared.

    And one for each installed package whose operations are not known, because it is broken.

    `home` is the module that an object was found in. A framework that was found out needs no declaration. `judged` are
    the functions of other names, each with the operation that it is judged as.
    """
    return (
        *_about_names(found, operations, judged),
        *_about_keywords(operations),
        *_about_inputs_left_out(operations),
        *_about_first_axis(operations),
        *_about_imports(found, operations),
        *([] if framework_found else _about_framework(found, home)),
        *installed().problems,
    )


def misspelt_operations(found: object) -> list[tuple[str, str]]:
    """Return (received, probably meant) for each callable whose name is nearly that of an operation."""
    names = [name for name in _names_in(found) if not name.startswith("_") and name not in OPERATIONS]
    pairs = [(name, closest(name, OPERATIONS, cutoff=_NAME_CUTOFF)) for name in names]
    return [(name, meant) for name, meant in pairs if meant and _is_callable(found, name)]


def _names_in(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, Mapping) else dir(found)


def _named(found: object, name: str) -> Any:
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)


def _about_names(found: object, operations: Callables, judged: Mapping[str, str]) -> list[str]:
    taken = {getattr(one, "written_as", "") for one in operations.values()}
    misspelt = misspelt_operations(found)
    otherwise = [
        f"{received} is judged as {judged[received]}; did you mean {meant}?"
        for received, meant in misspelt
        if judged.get(received, meant) != meant and not _is_its_name(received, judged[received])
    ]
    return otherwise + [
        f"{received} is not an operation; did you mean {meant}?"
        for received, meant in misspelt
        if meant not in operations
        and received not in taken | set(judged)
        and not isinstance(_named(found, received), type)
    ]


def _is_its_name(name: str, operation: str) -> bool:
    """Return whether a name is one of an operation's, or that of a backward pass, which has many."""
    return operation in suggested(name) or not OPERATIONS[operation].also_called


def _about_keywords(operations: Callables) -> list[str]:
    return [
        f"{operation} has the keyword {received}, which is not in its interface; did you mean {meant}?"
        for operation, function in operations.items()
        for received, meant in _suspect_keywords(operation, function).items()
    ]


def _about_inputs_left_out(operations: Callables) -> list[str]:
    """Return a sentence for each optional input that the interface does not have: no law passes it."""
    left_out = {
        operation: [
            f"`{name}`"
            for name in signatures.optional_inputs(function, OPERATIONS[operation])
            if may_be_input(name) and name not in _suspect_keywords(operation, function)
        ]
        for operation, function in operations.items()
    }
    return [
        f"{operation} is called without {' and '.join(names)}: what it does with {'it' if len(names) == 1 else 'them'} "
        "is not judged"
        for operation, names in left_out.items()
        if names
    ]


def _about_first_axis(operations: Callables) -> list[str]:
    """Return a sentence on a softmax along axis 0 that nothing explains, as it would be right otherwise."""
    offered = operations.get("softmax")
    function = offered.function if isinstance(offered, Adopted) else offered
    if function is None or not is_along_first_of_several(function) or says_columns(function):
        return []
    return [ALONG_FIRST_AXIS]


def _suspect_keywords(operation: str, function: Callable[..., Any]) -> dict[str, str]:
    specification = OPERATIONS[operation]
    foreign = signatures.foreign_keywords(function, specification)
    return dict((*signatures.misspelt_keywords(function, specification), *foreign))


def _about_imports(found: object, operations: Callables) -> list[str]:
    """Return a sentence for each function of a framework that a module imported and that counts as its operation."""
    if not isinstance(found, ModuleType) or found.__name__.partition(".")[0] in FRAMEWORKS:
        return []
    origins = {name: function.__module__ for name, function in operations.items() if inspect.isroutine(function)}
    return [
        f"{operation} was imported from {origin} and is tested as the implementation's own; "
        "import it under another name if that is not intended"
        for operation, origin in origins.items()
        if str(origin).partition(".")[0] in FRAMEWORKS
    ]


def _about_framework(found: object, home: ModuleType | None) -> list[str]:
    """Return a sentence if a module uses a framework without declaring it, for itself or for an object in it."""
    module = found if isinstance(found, ModuleType) else home
    if module is None or hasattr(found, "framework") or hasattr(module, "framework"):
        return []
    return [
        f"framework is not declared, so the operations are given numpy arrays; {name} is imported: "
        f'if they take its arrays, add framework = "{name}"'
        for name in frameworks_used(module)
        if name != "numpy"
    ]


def _is_callable(found: object, name: str) -> bool:
    try:
        value = _named(found, name)
        return callable(value) and not signatures.builds_something(value)
    except Exception:
        return False
