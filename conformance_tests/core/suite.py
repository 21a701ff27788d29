"""A suite: everything that the conformance tests know about one operation, in one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.rarity import Rarity
from veriformer.conformance_tests.drawing.space import How, Space
from veriformer.conformance_tests.drawing.values import stored

if TYPE_CHECKING:
    from veriformer.conformance_tests.core.inputs import Inputs
    from veriformer.conformance_tests.core.subject import Subject
    from veriformer.conformance_tests.variants import Family

SpaceT = TypeVar("SpaceT", bound=Space)
CaseT = TypeVar("CaseT", bound=Case)
AnyCaseT = TypeVar("AnyCaseT", bound=Case, contravariant=True)
InputsT = TypeVar("InputsT", bound="Inputs", covariant=True)


class KindOfInputs(Protocol[AnyCaseT, InputsT]):
    """The class of an operation's inputs: it makes them of a case, and of arrays by the names of its members."""

    def draw(self, operation: str, case: AnyCaseT) -> InputsT:
        """Return the inputs that a case describes."""
        ...

    def __call__(self, *arguments: Any, **named: Any) -> InputsT:
        """Return inputs of a dtype that hold named arrays."""
        ...


def _no_more(_: SpaceT, __: Limits) -> list[Any]:
    return []


def _nothing_lacking(_: Subject) -> str:
    return ""


def _as_it_is(case: CaseT, _: str, __: Limits) -> CaseT:
    return case


@dataclass(frozen=True)
class Suite(Generic[SpaceT, CaseT, InputsT]):
    """The conformance tests' knowledge of an operation; its laws are those of the topic's `laws`.

    `space` returns the space of its ordinary cases, with optional inputs that are drawn sometimes, or never. `draw` is
    the choice among the cases of a space. `inputs` is the class of the inputs of a case (`draw`), which are also made
    from arguments; if these are not its members by name, `given` makes them, from a dtype and arrays that it can hold.
    `weight` is the time of a law, in milliseconds of `veriformer check numpy`: long ones start first, and no verdict
    depends on it. `further` returns cases that a law of that space is tried on, whatever is drawn. `ordinary` is a case
    without anything rare, which `rarities` change. `suited` adapts it to a law, by its key, and an implementation.
    `lacking` returns why an implementation that has the operation does not offer it all the same, empty if it does.
    `variants` locates the formula with its decisions: the module, imported when needed,
    and the name in it.
    """

    operation: str
    space: Callable[[How], SpaceT]
    draw: Callable[[SpaceT, Limits], choices.Choice[CaseT]]
    inputs: KindOfInputs[CaseT, InputsT]
    weight: int
    ordinary: CaseT | None = None
    rarities: tuple[Rarity, ...] = ()
    variants: tuple[str, str] | None = None
    given: Callable[[str, Mapping[str, Any]], InputsT] | None = None
    suited: Callable[[CaseT, str, Limits], CaseT] = _as_it_is
    further: Callable[[SpaceT, Limits], list[CaseT]] = _no_more
    lacking: Callable[[Subject], str] = _nothing_lacking

    def given_inputs(self, dtype: str, arguments: Mapping[str, Any]) -> InputsT:
        """Return inputs made from given arguments: floats become arrays of values that the dtype can hold.

        Raises TypeError when the arguments are not those of the operation.
        """
        arrays = {name: stored(value, dtype) for name, value in arguments.items()}
        return self.inputs(dtype, **arrays) if self.given is None else self.given(dtype, arrays)

    def family(self) -> Family | None:
        """Return the family of the operation; None if it has none."""
        if self.variants is None:
            return None
        module, name = self.variants
        family: Family = getattr(import_module(module), name)
        return family
