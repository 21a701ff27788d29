"""Reading what an object declares: framework, dtypes, conventions, limitations, operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

from veriformer.adapters import signatures
from veriformer.adapters.array_kinds import framework_behind
from veriformer.adapters.arrays import DTYPES, FRAMEWORKS, ArrayFramework, framework
from veriformer.adapters.errors import LoadError, NoOperations, describe
from veriformer.adapters.fixed_values import FixedValue, fixed_of, read_fixed_values, refuse_unlike
from veriformer.adapters.implementation import LIMITATIONS, Callables, Declarations
from veriformer.adapters.model_declarations import read_architectures, read_black_box
from veriformer.adapters.notices import misspelt_operations
from veriformer.adapters.spelling import listing, suggestion
from veriformer.spec.conventions import CONVENTIONS, Convention
from veriformer.spec.operations import OPERATIONS

_USUAL_DTYPES = ("float32",)


def read_framework(found: object, name: str, home: object = None, known: str | None = None) -> ArrayFramework:
    """Return the framework that `found` names, numpy by default, on the device that it names, if it names one.

    What an object does not name is taken from the module that it was found in (`home`); what is `known` overrules both.
    LoadError for an unknown framework, and for a device that the framework does not have here.
    """
    received = known or declared_framework(found, name, home) or "numpy"
    if isinstance(received, str) and received in FRAMEWORKS:
        return _on_device(framework(received), _device(found, name, home), name)
    hint = suggestion(received, FRAMEWORKS) if isinstance(received, str) else ""
    raise LoadError(f"{name}: framework is {received!r}; set it to one of {listing(map(repr, FRAMEWORKS))}{hint}")


def declared_framework(found: object, name: str, home: object = None) -> Any:
    """Return the framework that an object names, or the module that it was found in; None where neither does.

    A mapping, or a function, names none itself.
    """
    return attribute(found, "framework", name, attribute(home, "framework", name, None))


def _device(found: object, name: str, home: object) -> object:
    """Return the device that `found` names, or that its module names with the framework."""
    of_home = None if attribute(found, "framework", name, None) else attribute(home, "device", name, None)
    return attribute(found, "device", name, of_home)


def _on_device(arrays: ArrayFramework, device: object, name: str) -> ArrayFramework:
    if device is None:
        return arrays
    if not isinstance(device, str):
        raise LoadError(f'{name}: device is a {type(device).__name__}; set it to a name, for example "cuda"')
    try:
        return arrays.on(device)
    except LoadError as error:
        raise LoadError(f"{name}: {error}") from error


def read_declarations(found: object, name: str, arrays: ArrayFramework) -> Declarations:
    """Return what `found` declares, apart from its framework and operations; LoadError for unknown names."""
    of_model = {part: attribute(found, f"model_{part}", name, None) for part in ("inputs", "properties", "parameters")}
    return Declarations(
        conventions=_conventions(found, name),
        dtypes=_dtypes(found, name, arrays),
        limitations=_limitations(found, name),
        fixed_values=_fixed_values(found, name),
        architectures=read_architectures(attribute(found, "architectures", name, None), name),
        black_box=read_black_box(**of_model, name=name),
    )


def _dtypes(found: object, name: str, arrays: ArrayFramework) -> tuple[str, ...]:
    """Return the dtypes to test, ("float32",) by default; LoadError for what is unknown or not available."""
    received = attribute(found, "dtypes", name, _USUAL_DTYPES)
    if framework_behind(received) is not None:
        # `from tinygrad import dtypes` declares nothing.
        received = _USUAL_DTYPES
    if not _is_sequence_of_names(received) or not received:
        raise LoadError(
            f"{name}: dtypes is {received!r}; "
            'set it to a sequence of one or more dtype names, for example ("float32", "float64")'
        )
    for dtype in received:
        if dtype not in DTYPES:
            known = listing(DTYPES)
            raise LoadError(f"{name}: dtypes has {dtype!r}; the names are {known}{suggestion(dtype, DTYPES)}")
        if dtype not in arrays.dtypes:
            said = "" if received is _USUAL_DTYPES else f"dtypes has {dtype!r}, but "
            raise LoadError(f"{name}: {said}{arrays.missing_dtype(dtype)}")
    return tuple(dict.fromkeys(received))


def _conventions(found: object, name: str) -> Mapping[str, str]:
    """Return the declared conventions; LoadError for an unknown operation, convention or value."""
    received = attribute(found, "conventions", name, {})
    if not isinstance(received, Mapping):
        raise LoadError(
            f"{name}: conventions is a {type(received).__name__}; "
            'set it to a mapping from convention to value, for example {"causal_alignment": "top_left"}'
        )
    for key, value in received.items():
        convention = CONVENTIONS[_qualified(key, CONVENTIONS, "conventions", name)]
        _check_value(convention, key, value, name)
    return MappingProxyType(dict(received))


def _limitations(found: object, name: str) -> tuple[str, ...]:
    """Return what the implementation refuses by design; LoadError for an unknown operation or limitation."""
    received = attribute(found, "limitations", name, ())
    if not _is_sequence_of_names(received):
        raise LoadError(
            f"{name}: limitations is {received!r}; "
            f"set it to a sequence of names, each one of {listing(LIMITATIONS)} or operation.name"
        )
    for key in received:
        _qualified(key, LIMITATIONS, "limitations", name)
    return tuple(received)


def _fixed_values(found: object, name: str) -> Mapping[str, FixedValue]:
    """Return the sizes and settings that have one value; LoadError for those that cannot be."""
    fixed = read_fixed_values(attribute(found, "fixed_values", name, {}), name, OPERATIONS)
    for operation in OPERATIONS:
        function = attribute(found, operation, name, None) if fixed else None
        if function is not None:
            its = fixed_of(operation, fixed)
            refuse_unlike(name, operation, its)
            _refuse_missing_keywords(name, operation, its, signatures.keyword_names(function))
    return fixed


def _refuse_missing_keywords(
    name: str, operation: str, fixed: Mapping[str, FixedValue], keywords: Container[str]
) -> None:
    needed = {"is_causal"} if "is_causal" in fixed else set()
    if fixed.get("num_kv_heads", fixed.get("num_heads")) != fixed.get("num_heads"):
        needed.add("num_kv_heads")
    for keyword in sorted(needed):
        if keyword not in keywords:
            raise LoadError(
                f"{name}: fixed_values has {keyword} = {fixed[keyword]}, which every call passes, and {operation} has "
                f"no such keyword; give it the keyword {keyword}"
            )


def read_operations(found: object, name: str) -> Callables:
    """Return the operations that `found` has, in the catalogue's order.

    LoadError when there is none, when one is not callable, or when `found` is a class whose methods need an instance.
    """
    operations = own_operations(found, name)
    if not operations:
        raise no_operations(found, name)
    return operations


def own_operations(found: object, name: str) -> Callables:
    """Return the operations that `found` has by their names, of which there may be none; LoadError as above.

    A function that takes no argument is a builder, and may have any name.
    """
    operations: dict[str, Callable[..., Any]] = {}
    for operation in OPERATIONS:
        received = attribute(found, operation, name, None)
        if received is None or signatures.builds_something(received) or is_model_alone(found, operation):
            continue
        if not callable(received):
            raise LoadError(f"{name}: {operation} is a {type(received).__name__}; make it a function, or rename it")
        operations[operation] = received
    _refuse_unbound(found, name, operations)
    return MappingProxyType(operations)


def is_model_alone(found: object, operation: str) -> bool:
    """Return whether what a file calls `model` has no `model_inputs` beside it: nothing says what it takes."""
    return operation == "model" and isinstance(found, ModuleType) and not hasattr(found, "model_inputs")


def attribute(found: object, attribute_name: str, name: str, default: Any) -> Any:
    """Return an attribute of the object under test, or `default`; LoadError when reading it raises."""
    try:
        return getattr(found, attribute_name, default)
    except Exception as error:
        raise LoadError(
            f"{name}: reading {attribute_name} raised {describe(error)}; make it a plain attribute"
        ) from error


def _is_sequence_of_names(received: object) -> bool:
    is_sequence = isinstance(received, Sequence) and not isinstance(received, str | bytes)
    return is_sequence and all(isinstance(item, str) for item in received)  # type: ignore[attr-defined]


def _qualified(key: object, known: Mapping[str, Any], where: str, name: str) -> str:
    """Return what is left of "operation.convention" or "convention" when both parts are known."""
    if not isinstance(key, str):
        raise LoadError(f"{name}: {where} has the key {key!r}; the keys are names, as strings")
    operation, dot, rest = key.rpartition(".")
    if dot and operation not in OPERATIONS:
        hint = suggestion(operation, OPERATIONS)
        raise LoadError(
            f"{name}: {where} has {key!r}, but {operation!r} is not an operation{hint or _listed(OPERATIONS)}"
        )
    if rest not in known:
        kind = where.removesuffix("s")
        raise LoadError(
            f"{name}: {where} has {key!r}, but no {kind} is called {rest!r}{suggestion(rest, known) or _listed(known)}"
        )
    return rest


def _listed(known: Mapping[str, Any]) -> str:
    return f"; known are {listing(known)}"


def _check_value(convention: Convention, key: str, value: object, name: str) -> None:
    values = [known.name for known in convention.values]
    if value in values:
        return
    hint = suggestion(value, values) if isinstance(value, str) else ""
    raise LoadError(f"{name}: convention {key} is {value!r}; its values are {listing(values)}{hint}")


def no_operations(found: object, name: str, reasons: Mapping[str, str] = MappingProxyType({})) -> NoOperations:
    """Return the error of what has no operations, with the `reasons` why its functions are none."""
    meant = {name: f"did you mean {other}?" for name, other in misspelt_operations(found)}
    near = [f"{name} ({question})" for name, question in meant.items() if name not in reasons]
    seen = f"; near misses: {listing(near)}" if near else ""
    # A line for each, so that the reason of each is found. What is only near to several operations is asked about.
    said = {one: meant.get(one, why) if why.startswith("nearest") else why for one, why in reasons.items()}
    lines = "".join(f"\n  {one}: {why}" for one, why in said.items())
    known = "`veriformer list operations` names those that are known"
    hint = f"{known}, and --as FUNCTION=OPERATION says which one a function is" if reasons else known
    return NoOperations(f"{name} declares no operation{seen}{lines}{chr(10) if reasons else '; '}{hint}")


def _refuse_unbound(found: object, name: str, operations: Callables) -> None:
    if not isinstance(found, type):
        return
    for operation in operations:
        if inspect.isfunction(inspect.getattr_static(found, operation)):
            raise LoadError(
                f"{name} is a class and its {operation} needs an instance; "
                f"name an instance instead, for example one made with `implementation = {found.__name__}()`"
            )
