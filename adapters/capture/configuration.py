"""What a model says of itself: the numbers and words of its configuration, and of the arguments that it has kept."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from veriformer.adapters.matching.texts import called_name, tree_of

Plain = bool | int | float | str

# Where people keep the arguments that a model was built with.
_HOLDERS = ("config", "cfg", "conf", "args", "hparams", "hps", "hp", "options", "params")
# What parts of a model keep for themselves, and no two kinds of parts mean differently.
_OF_ONE_MEANING = frozenset(
    """
    norm_topk_prob normalize_topk_prob norm_topk normalize_topk renormalize
    attn_logit_softcapping attn_softcap attention_softcap sliding_window rope_theta partial_rotary_factor rotary_pct
    scaling softmax_scale attn_scale
    """.split()  # noqa: SIM905
)
# Below any other name, something with so many numbers and words and with nothing else is a configuration.
_FEWEST = 3
# A configuration of a model of images and text has one of each inside, and each its parameters of rotations.
_DEEPEST = 3
_MOST_OBJECTS = 2_000
# Flax keeps the modules of a list as attributes of an object of its own.
_LISTS_OF_NNX = "flax.nnx.helpers"
# What makes another configuration of one.
_COPYING = frozenset({"dict", "copy", "deepcopy", "replace", "asdict", "update", "SimpleNamespace", "namedtuple"})


def configuration_of(*stating: object, home: object = None) -> dict[str, Plain]:
    """Return what a model states, by where it stands: "config.rope_theta", "num_heads"; empty where it states nothing.

    `stating` are the objects that it consists of. Where these keep no configuration, it is that of the module `home`
    which the model's code reads, if there is one. Reading a configuration may run code of the user's, and whatever that
    raises is nothing that is stated.
    """
    parts = [part for one in stating for part in parts_of(one)]
    alike = _settings_alike(parts)
    own = dict(alike)
    own |= {name: value for one in stating for name, value in _members(one).items() if _is_plain(value)}
    kept = [pair for one in stating for pair in _holders(one)]
    if not any(_is_a_record(held) for _, held in kept):
        kept += _record_of_parts(parts)
    if not any(_is_a_record(held) for _, held in kept) and isinstance(home, ModuleType):
        kept += _read_by(home)
    recorded = {f"{holder}.{name}": value for holder, held in kept for name, value in _flat(held, 1)}
    # What the parts were built with is no witness against what the model was asked to be.
    asked = {name.rpartition(".")[2] for name in recorded}
    return {name: value for name, value in own.items() if name not in alike or name not in asked} | recorded


def parts_of(found: object) -> list[object]:
    """Return the objects that a model consists of, without itself: the modules of one of torch, else its attributes."""
    modules = getattr(found, "modules", None)
    if type(found).__module__ == "builtins" or isinstance(found, type):
        return []
    try:
        return [one for one in (modules() if inspect.ismethod(modules) else _objects_in(found)) if one is not found]
    except Exception:
        return []


def _objects_in(found: object) -> list[object]:
    """Return the objects of classes of the same file that lie in an object's attributes, lists and dictionaries."""
    home, seen = type(found).__module__, {id(found): found}
    waiting: list[Any] = [found]
    while waiting and len(seen) < _MOST_OBJECTS:
        held = waiting.pop(0)
        in_order = isinstance(held, list | tuple)
        for one in held if in_order else (held if isinstance(held, dict) else vars(held)).values():
            looked_into = isinstance(one, dict | list | tuple) or type(one).__module__ in (home, _LISTS_OF_NNX)
            if id(one) not in seen and looked_into and not isinstance(one, type):
                seen[id(one)] = one
                waiting.append(one)
    objects = [one for one in seen.values() if type(one).__module__ == home and hasattr(one, "__dict__")]
    return [one for one in objects if not _is_a_record(one)]


def _settings_alike(parts: list[object]) -> dict[str, Plain]:
    """Return what the parts of a model keep under names that have one meaning, where all that keep it agree."""
    kept: dict[str, set[Plain]] = {}
    for members in map(_members, parts):
        for name in _OF_ONE_MEANING & members.keys():
            if _is_plain(members[name]):
                kept.setdefault(name, set()).add(members[name])
    return {name: next(iter(values)) for name, values in kept.items() if len(values) == 1}


def _record_of_parts(parts: list[object]) -> list[tuple[str, Any]]:
    """Return the configuration that parts of a model keep, where it is one and the same."""
    held = [(name, one) for part in parts for name, one in _holders(part) if one is not None and _is_a_record(one)]
    return held[:1] if len({id(one) for _, one in held}) == 1 else []


def _read_by(home: ModuleType) -> list[tuple[str, Any]]:
    """Return the one configuration of a module that its functions read; none where there are several.

    One that a function without arguments alone reads may be changed there before a model is built of it, unless it is
    handed over as it is; one that is a parameter's default is read.
    """
    records = [(name, held) for name, held in vars(home).items() if not isinstance(held, type) and _is_a_record(held)]
    functions = [one for found in vars(home).values() for one in _functions_of(found, home)]
    codes = [code for one in functions for code in _codes_in(one.__code__)]
    read = {name for code in codes for name in code.co_names if code.co_argcount}
    by_default = [value for one in functions for value in one.__defaults__ or ()]
    read |= {name for name, _ in records for one in functions if _hands_over(one, name)}
    used = [pair for pair in records if pair[0] in read or any(pair[1] is value for value in by_default)]
    return used if len(records) == 1 else []


def _hands_over(function: FunctionType, name: str) -> bool:
    """Return whether a function hands what is called so over to others, as it is, and does nothing else with it."""
    tree = tree_of(function)
    if tree is None:
        return False
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and called_name(one.func) not in _COPYING]
    handed = [arg for one in calls for arg in (*one.args, *(keyword.value for keyword in one.keywords))]
    used = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == name]
    return bool(used) and all(any(one is arg for arg in handed) for one in used)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and that of the functions in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes_in(inner)


def _functions_of(found: Any, home: ModuleType) -> list[FunctionType]:
    """Return a function of a module, or the methods of a class of it."""
    if getattr(found, "__module__", None) != home.__name__:
        return []
    functions = vars(found).values() if isinstance(found, type) else (found,)
    return list(map(inspect.unwrap, filter(inspect.isfunction, functions)))


def _holders(found: object) -> Iterator[tuple[str, Any]]:
    """Yield what a configuration may be kept in: what is called so, and what holds nothing but plain values."""
    for holder in _HOLDERS:
        try:
            yield holder, getattr(found, holder, None)
        except Exception:
            continue
    for name, held in ({} if isinstance(found, Mapping) else _members(found)).items():
        if name not in _HOLDERS and _is_a_record(held):
            yield name, held


def _is_a_record(held: Any) -> bool:
    """Return whether an object holds numbers and words, and neither arrays nor parts of a model."""
    is_called = callable(held) and not isinstance(held, type)
    if _is_plain(held) or is_called or isinstance(held, ModuleType):
        return False
    values = list(_members(held).values())
    return all(map(_is_inert, values)) and sum(map(_is_plain, values)) >= _FEWEST


def _is_inert(value: Any, depth: int = 0) -> bool:
    """Return whether a member may be of a configuration: plain, a function or a class, or a container of these."""
    if isinstance(value, list | tuple | set | dict):
        inner = value.values() if isinstance(value, dict) else value
        return depth < _DEEPEST and all(_is_inert(one, depth + 1) for one in inner)
    return value is None or _is_plain(value) or isinstance(value, type) or _is_function(value)


def _is_function(value: Any) -> bool:
    bare = callable(value) and not hasattr(value, "__dict__")
    return bare or inspect.isroutine(value) or isinstance(value, property)


def _flat(held: Any, depth: int) -> Iterator[tuple[str, Plain]]:
    for name, value in _members(held).items():
        if _is_plain(value):
            yield name, value
        elif isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
            # The kinds of the layers.
            yield name, ", ".join(value)
        elif depth < _DEEPEST:
            yield from ((f"{name}.{inner}", one) for inner, one in _flat(value, depth + 1))


def _members(held: Any) -> dict[str, Any]:
    """Return what is in a dictionary or in the attributes of an object, but for what is private."""
    try:
        members = _as_mapping(held)
    except Exception:
        return {}
    return {name: value for name, value in members.items() if isinstance(name, str) and not name.startswith("_")}


def _as_mapping(held: Any) -> Mapping[Any, Any]:
    if isinstance(held, Mapping):
        return held
    if isinstance(held, tuple) and hasattr(held, "_asdict"):
        return dict(held._asdict())
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        return {one.name: getattr(held, one.name, None) for one in dataclasses.fields(held)}
    if not hasattr(held, "__dict__"):
        return {}
    # A class that holds constants is a configuration too, and so is an object of it that changes some of them.
    shared = {} if isinstance(held, type) else vars(type(held))
    return {name: one for name, one in shared.items() if _is_plain(one)} | dict(vars(held))


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)
