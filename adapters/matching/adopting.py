"""What an object offers as operations: those that it has by their names, and those that its functions are taken for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

from veriformer.adapters import declarations, signatures
from veriformer.adapters.array_kinds import frameworks_used
from veriformer.adapters.asked import Asked
from veriformer.adapters.errors import LoadError
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.matching import applied, backward_pairs, cached, documented, scripted, step_classes, training
from veriformer.adapters.matching.as_written import answers_as_written
from veriformer.adapters.matching.classes import NO_FORWARD, classes_in, without_forward_pass
from veriformer.adapters.matching.forms import Adopted, Form
from veriformer.adapters.matching.frameworks_in_text import frameworks_named
from veriformer.adapters.matching.imported import without_imported
from veriformer.adapters.matching.layouts import AsItIs
from veriformer.adapters.matching.losses import is_weighing
from veriformer.adapters.matching.matching import (
    Match,
    Matched,
    fits_as_written,
    functions_of,
    is_of_another_interface,
    matched,
)
from veriformer.adapters.matching.modules import functions_of_classes
from veriformer.adapters.matching.named_axes import computes_along_first_axis, says_columns, says_one_vector
from veriformer.adapters.matching.names import LENGTHS, folded, parameters_of
from veriformer.adapters.matching.picks import Pick
from veriformer.adapters.matching.returned import returns_several
from veriformer.adapters.matching.search import OF_LENGTH
from veriformer.adapters.matching.sources import LAST_AXIS, taken
from veriformer.adapters.matching.special import may_take_places
from veriformer.adapters.matching.temperatures import has_temperature
from veriformer.adapters.matching.texts import says_power_of_two
from veriformer.spec.operations import OPERATIONS

Functions = dict[str, Callable[..., Any]]
_BUILDS = "it can be called without arguments, so that it builds something and is no operation"
_ALONE = "a file has no model_inputs, which say what it takes; `def build(): return model, parameters` makes it a model"


@dataclass(frozen=True)
class Offer:
    """The operations of an object, its framework where it was found, and what is said of its functions.

    `others` are its public functions that are no operation, each with the reason; `alone` are the functions that have
    to be checked by themselves: "my_attention.py:NAME". `conventions` are those that documentation states.
    """

    operations: Mapping[str, Callable[..., Any]]
    framework: str | None = None
    matches: tuple[Match, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    alone: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was taken for what, a sentence for each function of another name or another form."""
        told = (one for one in self.matches if one.name != one.operation or one.description or not one.exact)
        return tuple(one.sentence for one in told)


def adopt(found: object, name: str, home: ModuleType | None, asked: Asked) -> Offer:
    """Return the operations that an object offers.

    They are those of its attributes that are called so, and for a module, a function or a mapping of functions those
    that its functions are taken for. `home` is the module that it was found in.
    Raises NoOperations where there are none, and LoadError for what cannot be meant.
    """
    if scripted.is_scripted(found):
        found = scripted.as_written(str(getattr(scripted.written(found), "__name__", "function")), found)
    offer = _offered(found, name, home, asked)
    if not _is_ours(found):
        offer = replace(offer, conventions=documented.conventions(offer.operations))
    others = {**_builders_in(found), **offer.others}
    if isinstance(found, ModuleType) and not _is_ours(found):
        told = {*others, *offer.alone, *offer.operations, *(one.name for one in offer.matches)}
        silent = without_forward_pass(str(getattr(found, "__file__", "")))
        others |= {one: NO_FORWARD for one in silent if one not in told}
    _refuse_what_was_asked(offer, name, asked)
    return _or_none(replace(offer, others=others), found, name)


def _refuse_what_was_asked(offer: Offer, name: str, asked: Asked) -> None:
    """Raise LoadError where a function cannot be judged as the operation that the user names for it."""
    for function, operation in asked.operations.items():
        if function in offer.others:
            raise LoadError(f"{name}: {function} cannot be judged as {operation}: {offer.others[function]}")


def _offered(found: object, name: str, home: ModuleType | None, asked: Asked) -> Offer:
    own, others = _of_this_interface(without_imported(found, _own(found, name)))
    declared = asked.framework or declarations.declared_framework(found, name, home)
    classes, reasons = _classes_of(found, home)
    reasons |= others
    functions = {} if _is_ours(found) else _to_match(found, classes, declared, asked, name)
    for one in own:
        if one not in functions:
            SO_FAR.found(f"{one} is to be judged")
    if not isinstance(declared, str | None) or not functions:
        return Offer(own, asked.framework or _framework_of_all(found, own, declared), others=reasons)
    operations = (
        {one: one for one in own if not cached.is_step(own[one])}
        | _mapping_in(found, functions)
        | dict(asked.operations)
    )
    said = {one: operation for one in functions if (operation := operations.get(one, asked.operation_of(one)))}
    found_out = matched(functions, declared, said, [one for one in own if one not in functions])
    offer = _together(own, found_out, asked, _framework_of_all(found, own, declared))
    judged = {one.name for one in offer.matches}
    return replace(offer, others={**offer.others, **{name: why for name, why in reasons.items() if name not in judged}})


def _builders_in(found: object) -> dict[str, str]:
    """Return the functions of a module that have the name of an operation and are none, with the reason."""
    if not isinstance(found, ModuleType) or _is_ours(found):
        return {}
    written = functions_of(found)
    builders = {one: _BUILDS for one in OPERATIONS if one in written and signatures.builds_something(written[one])}
    alone = {one: _ALONE for one in written if declarations.is_model_alone(found, one)}
    return {**alone, **builders, **scripted.traced_in(found)}


def _is_ours(found: object) -> bool:
    """Return whether a module is of the package itself: its functions have the interface's names and forms."""
    return isinstance(found, ModuleType) and found.__name__.startswith("veriformer.")


def _own(found: object, name: str) -> dict[str, Callable[..., Any]]:
    if isinstance(found, Mapping) or _is_function(found):
        return {}
    return scripted.in_their_place(applied.in_their_place(declarations.own_operations(found, name)))


def _of_this_interface(own: Functions) -> tuple[Functions, dict[str, str]]:
    """Return the functions that are operations by their name, and the reasons why others only have such a name."""
    others = {}
    for name, function in own.items():
        record = OPERATIONS[name]
        # Functions of the other operations are matched by their parameters.
        is_composed = not record.also_called and not record.forward and not cached.is_step(function)
        if is_composed and signatures.is_of_another_interface(function, record):
            form = f"{name}({', '.join([*record.positional, '*', '...'])})"
            others[name] = f"its parameters are others than those of {form} in the interface"
    return {name: function for name, function in own.items() if name not in others}, others


def _is_function(found: object) -> bool:
    """Return whether an object is a function, or a function that a framework has compiled."""
    if isinstance(found, type | ModuleType) or not callable(found):
        return False
    is_compiled = hasattr(found, "__wrapped__") and not hasattr(found, "parameters")
    return inspect.isroutine(found) or isinstance(found, partial) or is_compiled


def _to_match(found: object, classes: Functions, declared: Any, asked: Asked, name: str) -> Functions:
    """Return the functions whose operations, framework or form have to be found out, by their names."""
    if isinstance(found, type):
        home = sys.modules.get(found.__module__)
        of_training = training.classes_of(home) if home is not None else {}
        steps = step_classes.function_of(found)
        by_step = {} if steps is None else {found.__name__: steps}
        return {**by_step, **classes, **{name: one for name, one in of_training.items() if one is found}}
    if _is_function(found):
        called = str(getattr(found, "__name__", ""))
        if not called.isidentifier():
            # A lambda, or a function of fewer arguments, is called as the file calls it.
            called = name.rpartition(":")[2].rpartition(".")[2] or "function"
        # A function without required parameters builds something; it is no operation.
        return {} if signatures.builds_something(found) else {called: found}  # type: ignore[dict-item]
    if isinstance(found, Mapping):
        return {str(name): function for name, function in found.items() if callable(function)}
    if not isinstance(found, ModuleType):
        return {}
    functions = {
        **functions_of(found),
        **applied.functions_of_kinds(found),
        **step_classes.functions_of(found),
        **classes,
        **training.classes_of(found),
        **backward_pairs.classes_of(found),
    }
    for one in asked.operations:
        if one and callable(getattr(found, one, None)):
            functions[one] = getattr(found, one)
    return {
        name: function
        for name, function in functions.items()
        if name not in OPERATIONS or _is_to_match(name, function, declared)
    }


def _classes_of(found: object, home: ModuleType | None) -> tuple[Functions, dict[str, str]]:
    """Return the classes of a file that are one operation, or the class that is named, as functions.

    With them come the classes that can be judged in no way, each with the reason.
    """
    if isinstance(found, type) and isinstance(home, ModuleType):
        return functions_of_classes(home, [found.__name__])
    if not isinstance(found, ModuleType) or _is_ours(found) or not getattr(found, "__file__", None):
        return {}, {}
    return functions_of_classes(found, *classes_in(str(found.__file__)))


def _is_to_match(name: str, function: Callable[..., Any], declared: str | None) -> bool:
    """Return whether it has to be found out how a function of an operation's name is called; a builder is none."""
    return not (signatures.builds_something(function) or _is_clear(name, function, declared))


def _is_clear(name: str, function: Callable[..., Any], declared: str | None) -> bool:
    """Return whether a function of an operation's name is called as it is written, by the interface.

    So is a backward pass. Where the framework is not declared, a call has to find it.
    """
    if name == "alibi_bias" and says_power_of_two(function):
        return False
    if name in training.OPERATIONS_OF:
        if len(OPERATIONS[name].results) < 2 and returns_several(function):
            return False
        return not signatures.unaccepted_call(function, OPERATIONS[name]) or not training.operation_of(function, name)
    if not OPERATIONS[name].also_called:
        return not cached.is_step(function) and not backward_pairs.is_of_another_form(name, function)
    if signatures.unaccepted_call(function, OPERATIONS[name]) and _is_of_another_form(name, function):
        return False
    takings = parameters_of(function) or ()
    if has_temperature(name, takings) or may_take_places(name, [one.name for one in takings]):
        return False
    if (
        name == "softmax"
        and computes_along_first_axis(function)
        and (says_one_vector(function) or says_columns(function))
    ):
        return False
    if declared is not None:
        return True
    if frameworks_named(function) not in ((), ("numpy",)) or is_of_another_interface(function, name):
        return False
    return answers_as_written(function, name)


def _is_of_another_form(name: str, function: Callable[..., Any]) -> bool:
    """Return whether all that a function must be given has a name by which another interface calls it.

    Then it is written for that, and what it takes is no mistake. A number that it needs and the operation lacks is one.
    """
    record, takings = OPERATIONS[name], parameters_of(function)
    if takings is None or signatures.misspelt_keywords(function, record):
        return False
    if any(one.name in record.features and not one.has_default for one in takings):
        # It is written to the interface, and lacks the default that this has there.
        return False
    found = taken(name, takings, by_order=False)
    known = {*found.roles, found.held, *(one.name for one in takings if one.has_default)}
    known |= {one.name for one in takings if folded(one.name) in LAST_AXIS}
    if name == "cross_entropy":
        known |= {one.name for one in takings if is_weighing(one.name)}
    if "mask" in record.features:
        known |= {one.name for one in takings if folded(one.name) in LENGTHS}
    return all(one.name in known for one in takings)


def _mapping_in(found: object, functions: Functions) -> dict[str, str]:
    """Return which function is which operation by a mapping: the dictionary itself, or `operations` of a module."""
    mapping = found if isinstance(found, Mapping) else getattr(found, "operations", None)
    if not isinstance(mapping, Mapping) or not all(isinstance(one, str) for one in mapping):
        return {}
    if isinstance(found, Mapping):
        return {name: name for name in functions if name in OPERATIONS}
    known = {operation: function for operation, function in mapping.items() if operation in OPERATIONS}
    return {name: operation for operation, its in known.items() for name, one in functions.items() if one is its}


def _framework_of_all(found: object, own: Functions, declared: Any) -> str | None:
    """Return the only framework that a file uses, where it declares none; None where it uses NumPy or several."""
    used = frameworks_used(found) if own and declared is None and isinstance(found, ModuleType) else ()
    return used[0] if len(used) == 1 and not _is_ours(found) else None


def _together(own: Functions, found: Matched, asked: Asked, framework_of_own: str | None) -> Offer:
    """Return what is offered: a function of an operation's name that is called as it stands is not changed."""
    otherwise = {one.name for one in found.matches if one.name != one.operation}
    refused = {
        name
        for name, why in found.others.items()
        if why.endswith(OF_LENGTH) or backward_pairs.is_of_another_form(name, own.get(name))
    }
    operations = {name: function for name, function in own.items() if name not in otherwise | refused}
    for operation, function in found.operations.items():
        plain = operation in own and isinstance(function, Adopted) and _is_plain(function.form, own[operation])
        operations[operation] = own[operation] if plain else function
    ordered = {one: operations[one] for one in OPERATIONS if one in operations}
    framework = asked.framework or (found.framework if found.operations else framework_of_own)
    matches = tuple(one for one in found.matches if isinstance(operations[one.operation], Adopted))
    together = {one for its in operations.values() if isinstance(its, Adopted) for one in its.form.judged_with}
    others = {name: why for name, why in found.others.items() if name not in operations and name not in together}
    alone = tuple(name for name in found.alone if name not in own)
    return Offer(ordered, framework, matches, others, alone, found.limitations, found.fixed_values)


def _is_plain(form: Form, function: Callable[..., Any]) -> bool:
    whole = form.pick == Pick() and isinstance(form.layout, AsItIs)
    return whole and fits_as_written(function, form.operation) and not form.words and not form.limitations


def _or_none(offer: Offer, found: object, name: str) -> Offer:
    if offer.operations:
        return offer
    if isinstance(found, Mapping) and not found:
        raise LoadError(f"{name} is empty; give a dictionary of functions by the names of operations")
    raise declarations.no_operations(found, name, offer.others)
