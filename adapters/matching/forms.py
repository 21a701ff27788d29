"""A function as an operation: which parameter gets what, in which layout, and what of its result is taken."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from veriformer.adapters.matching.layouts import Arguments, Around, AsItIs, Layout, is_for_each_sample, levels
from veriformer.adapters.matching.namespaces import shape_of
from veriformer.adapters.matching.picks import Pick
from veriformer.spec.operations import OPERATIONS

Source = Callable[[Arguments], Any]
GROUP_SIZE = "query heads of each key head"
QUERY_LENGTH, KEY_LENGTH = "number of queries", "number of keys"
"""The names of what every call of an attention has besides its arguments."""
LEFT_OUT = object()
"""What a source returns for a parameter that a call leaves out."""


@dataclass(frozen=True)
class Form:
    """How a function is called as an operation.

    `sources`: what each of its parameters is given, a function of the arguments of the call.
    `by_position`: the parameters that it takes by position, in their order.
    `features`: the optional keywords of the operation that reach it.
    `turns_both`: whether it is given −2 times its argument as a second one, and turns that too.
    `after`: what is done to its result, such as the gain that it lacks.
    `limitations`, `fixed_values`: what it does not offer, as an implementation declares it.
    `words`: what is said of it, besides its layout and its result.
    `left_out`: optional inputs that no call passes.
    `judged_with`: the functions of its file that make what it is given.
    `last_resort`: whether it is tried only where no form before it answers.
    """

    operation: str
    sources: Mapping[str, Source]
    by_position: tuple[str, ...] = ()
    layout: Layout = field(default_factory=AsItIs)
    pick: Pick = field(default_factory=Pick)
    features: tuple[str, ...] = ()
    turns_both: bool = False
    after: Callable[[Any, Arguments], Any] = lambda result, _: result
    limitations: tuple[str, ...] = ()
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    judged_with: tuple[str, ...] = ()
    last_resort: bool = False

    def called(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        """Return the operation's result for arguments by the interface's names, of the function's framework."""
        return self.laid_out(functools.partial(self._inner, function), arguments)

    def laid_out(self, inner: Callable[[Arguments], Any], arguments: Arguments) -> Any:
        """Return what a function of arguments in the layout returns."""
        return self.layout.call(inner, {**arguments, **_sizes_of_call(arguments)})

    def returned(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        """Return all that the function returns for arguments in its layout."""
        values = {name: source(arguments) for name, source in self.sources.items()}
        given = {name: value for name, value in values.items() if value is not LEFT_OUT}
        positional = [given.pop(name) for name in self.by_position]
        return function(*positional, **given)

    def _inner(self, function: Callable[..., Any], arguments: Arguments) -> Any:
        return self.after(self.pick.of(self.returned(function, arguments)), arguments)

    @property
    def rearranged_with(self) -> tuple[str, ...]:
        """The arguments with which the function is called with other samples than those of the operation's call."""
        return self.layout.rearranged_with if isinstance(self.layout, Around) else ()

    def with_source(self, name: str, source: Source, feature: str, *words: str) -> Form:
        """Return the form in which a parameter is given a feature of the operation."""
        features = self.features if feature in self.features else (*self.features, feature)
        return replace(self, sources={**self.sources, name: source}, features=features, words=(*self.words, *words))

    @property
    def description(self) -> str:
        """What was taken for what, in a few words."""
        left_out = f"{' and '.join(f'`{one}`' for one in self.left_out)} not given" if self.left_out else ""
        parts = [self.layout.words, *self.words, self.pick.words, left_out]
        return "; ".join(part for part in parts if part)


def _sizes_of_call(arguments: Arguments) -> dict[str, int]:
    """Return sizes of an attention, which no layout shows as plainly as the interface's."""
    shapes = [shape_of(arguments[name]) for name in ("query", "key") if name in arguments]
    if [len(shape) for shape in shapes] != [4, 4]:
        return {}
    (_, heads, queries, _), (_, groups, keys, _) = shapes
    return {GROUP_SIZE: heads // max(groups, 1), QUERY_LENGTH: queries, KEY_LENGTH: keys}


class Adopted:
    """A function as an operation of the interface; its signature is the operation's, with the features that it has."""

    def __init__(self, function: Callable[..., Any], form: Form) -> None:
        self._function = function
        self._form = form
        self._record = OPERATIONS[form.operation]
        self.__signature__ = _signature(form)

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        """Return the result of the operation."""
        named = {name: value for name, value in keywords.items() if value is not None}
        return self._form.called(
            self._function, {**dict(zip(self._record.positional, positional, strict=True)), **named}
        )

    @property
    def function(self) -> Callable[..., Any]:
        """The function that is adopted."""
        return self._function

    @property
    def without_gradients(self) -> frozenset[str]:
        """The keywords with which no gradients are taken."""
        around = (one.without_gradients for one in levels(self._form.layout) if isinstance(one, Around))
        return frozenset[str]().union(*around)

    @property
    def form(self) -> Form:
        """How it is called."""
        return self._form

    @property
    def written_as(self) -> str:
        """The name of the function."""
        return str(getattr(self._function, "__name__", ""))

    @property
    def has_all_gradients(self) -> bool:
        """Whether each argument of the operation reaches the function; a context that is x has none."""
        return f"{self._form.operation}.context" not in self._form.limitations

    def __getattr__(self, name: str) -> Any:
        # What is compiled has attributes that tell; those of Python's own are this object's.
        if name.startswith("__") or name in ("_function", "_form", "_record"):
            raise AttributeError(name)
        return getattr(self._function, name)


def rearranged_in(operations: Mapping[str, Callable[..., Any]]) -> dict[str, tuple[str, ...]]:
    """Return the operations whose functions are called with other samples, and the arguments with which they are."""
    adopted = {name: one for name, one in operations.items() if isinstance(one, Adopted)}
    return {name: names for name, one in adopted.items() if (names := one.form.rearranged_with)}


def one_by_one_in(operations: Mapping[str, Callable[..., Any]]) -> tuple[str, ...]:
    """Return the operations whose functions are called for each sample by itself."""
    adopted = {name: one for name, one in operations.items() if isinstance(one, Adopted)}
    return tuple(name for name, one in adopted.items() if is_for_each_sample(one.form.layout))


def _signature(form: Form) -> inspect.Signature:
    record, kinds = OPERATIONS[form.operation], inspect.Parameter
    needed = [one.name for one in record.parameters if one.requirement == "keyword"]
    return inspect.Signature(
        [
            *(kinds(name, kinds.POSITIONAL_ONLY) for name in record.positional),
            *(kinds(name, kinds.KEYWORD_ONLY) for name in needed),
            *(kinds(name, kinds.KEYWORD_ONLY, default=None) for name in record.features if name in form.features),
        ]
    )
