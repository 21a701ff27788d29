"""An implementation under test: its operations, and what it declares about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from veriformer.adapters import signatures
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.arrays_taken import ArraysTaken
from veriformer.adapters.asked import NOTHING_ASKED, Asked
from veriformer.adapters.errors import LoadError
from veriformer.adapters.fixed_values import FixedValue, fixed_of
from veriformer.adapters.matching.classes import NO_FORWARD
from veriformer.adapters.model_declarations import ARCHITECTURES, BlackBox
from veriformer.adapters.siblings import SiblingImports
from veriformer.adapters.stopwatch import Stopwatch
from veriformer.spec.operations import OPERATIONS

if TYPE_CHECKING:
    from veriformer.adapters.isolation.calls import Residence

Callables = Mapping[str, Callable[..., Any]]

LIMITATIONS: Mapping[str, str] = MappingProxyType(
    {
        "value_width": "the values must be as wide as the queries and keys (Dv = D)",
        "left_padding": "a causal model takes padding on the right only",
        "norm_first": "norms stand before the sublayers, or after the sums, whatever is asked for",
        "activation": "a network has one activation, or some of those that the interface has",
        "biases": "projections and networks have no biases, or always have them",
        "num_kv_heads": "there are as many key/value heads as query heads",
        "context": "queries, keys and values are projected from x, and the context is x itself",
        "d_ff": "the hidden width of a network is a fixed multiple of E",
        "eps": "norms have an eps of their own",
        "more_queries_than_keys": "there are no more queries than keys (L ≤ S)",
        "unequal_lengths": "there are as many queries as keys (L = S)",
        "odd_width": "widths are even",
        "empty_rows": "a query that may see no key has no result of its own, as where a finite number is added to it",
    }
)


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """What an implementation declares about its operations.

    `conventions` and `limitations` have keys that are general ("mask_polarity") or of one operation
    ("multi_head_attention.mask_polarity"); so has `fixed_values`, the sizes and settings that have one value.
    `architectures` are those of each operation on whole models. `black_box` is what its `model` takes.
    """

    conventions: Mapping[str, str] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)
    limitations: tuple[str, ...] = ()
    fixed_values: Mapping[str, FixedValue] = field(default_factory=dict)
    architectures: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ARCHITECTURES)
    black_box: BlackBox | None = None


@dataclass(frozen=True)
class Implementation(Declarations):
    """An implementation: its operations, how they are called, and what it declares about them.

    `source`: the file or import path, None for an object.
    `files`: its file, and those of the same folder that were imported with it.
    `notices`: sentences about names that look misspelt.
    `derived`: the operations that are derived from another by differentiation, and that other.
    `residence`: the worker in which it runs, None if it is called in this process.
    `arrays_taken`: which framework's arrays its operations have turned out to take.
    `taken_as`: which of its functions were taken for which operations, where their names are others.
    `not_judged`: its public functions that are no operation, each with the reason.
    `judged_alone`: its functions and classes that are to be checked by their own names.
    `rearranged_with`: the arguments with which a call of an operation is one of its function with other samples.
    `one_by_one`: the operations whose functions are called for each sample of a call by itself.
    `is_declared`: whether it says itself that it has the interface's form, as a file does by naming its framework.
    `asked`: what the user says of it from outside.
    `stopwatch`: times the calls that laws and probes make.
    """

    name: str
    framework: ArrayFramework
    operations: Callables
    source: str | None = None
    files: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    siblings: SiblingImports | None = field(default=None, repr=False, compare=False)
    derived: Mapping[str, str] = field(default_factory=dict)
    taken_as: Mapping[str, str] = field(default_factory=dict)
    not_judged: Mapping[str, str] = field(default_factory=dict)
    judged_alone: tuple[str, ...] = ()
    rearranged_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    one_by_one: tuple[str, ...] = ()
    is_declared: bool = True
    asked: Asked = field(default=NOTHING_ASKED, repr=False)
    residence: Residence | None = field(default=None, repr=False, compare=False)
    arrays_taken: ArraysTaken = field(default_factory=ArraysTaken, repr=False, compare=False)
    stopwatch: Stopwatch = field(default_factory=Stopwatch, repr=False, compare=False)

    def restricted_to(self, dtypes: tuple[str, ...] | None) -> Implementation:
        """Return the implementation with other dtypes to test; LoadError when its framework lacks one."""
        for name in dtypes or ():
            if name not in self.framework.dtypes:
                raise LoadError(self.framework.missing_dtype(name))
        return self if dtypes is None else replace(self, dtypes=dtypes)

    def declares(self, operation: str) -> bool:
        """Return whether the implementation has the operation."""
        return operation in self.operations

    def is_rearranged(self, operation: str, arguments: Iterable[str]) -> bool:
        """Return whether a call with these arguments reaches the operation's function with other samples."""
        forward = self.derived.get(operation, operation)
        return not set(self.rearranged_with.get(forward, ())).isdisjoint(arguments)

    def is_one_by_one(self, operation: str) -> bool:
        """Return whether a call of the operation is one of its function for each sample."""
        return self.derived.get(operation, operation) in self.one_by_one

    def promises_dtype(self, operation: str) -> bool:
        """Return whether results are to have the dtype of the arguments, as the interface has it.

        A function of another name promises none, and nothing does in a file that names no framework and has such
        functions, or others that are no operation: it is not written to the interface.
        """
        of_functions = any(reason != NO_FORWARD for reason in self.not_judged.values())
        has_others = bool(self.taken_as or of_functions or self.judged_alone)
        return operation not in self.taken_as.values() and (self.is_declared or not has_others)

    def features(self, operation: str) -> frozenset[str]:
        """Return the optional keywords that the operation has by name; a catch-all `**kwargs` declares nothing.

        KeyError for an operation that the implementation or the catalogue does not have.
        """
        present = signatures.keyword_names(self.operations[operation])
        return present.intersection(OPERATIONS[operation].features)

    def declared_convention(self, name: str, operation: str) -> str | None:
        """Return the declared value of a convention: the operation's own, else the general one, else None.

        A derived operation shares those of the operation that it was derived from.
        """
        general = self.conventions.get(name)
        if operation in self.derived:
            general = self.conventions.get(f"{self.derived[operation]}.{name}", general)
        return self.conventions.get(f"{operation}.{name}", general)

    def misspelt_keywords(self, operation: str) -> tuple[tuple[str, str], ...]:
        """Return (received, probably meant) for each keyword that the operation nearly has."""
        return signatures.misspelt_keywords(self.operations[operation], OPERATIONS[operation])

    def unaccepted_call(self, operation: str) -> str:
        """Return why the operation cannot be called with its required parameters; empty when it can."""
        return signatures.unaccepted_call(self.operations[operation], OPERATIONS[operation])

    def limited(self, operation: str, limitation: str) -> bool:
        """Return whether the operation refuses by design what `limitation` names (see LIMITATIONS)."""
        names = (operation, self.derived.get(operation, operation))
        return not {limitation, *(f"{name}.{limitation}" for name in names)}.isdisjoint(self.limitations)

    def fixed_for(self, operation: str) -> dict[str, FixedValue]:
        """Return the sizes and settings that an operation has one value of (see FIXABLE)."""
        return fixed_of(operation, self.fixed_values)

    def forgive(self, operation: str) -> None:
        """Allow calls of an operation again that was given up for hanging or ending its worker."""
        if self.residence is not None:
            self.residence.supervisor.forgive(operation)

    def not_survived(self, operation: str) -> str:
        """Return which calls of an operation its process did not survive though a fresh one does; empty if none."""
        return "" if self.residence is None else self.residence.supervisor.not_survived(operation)

    def printed(self) -> str:
        """Return the output of its worker since the last time; empty if it has no worker."""
        return "" if self.residence is None else self.residence.supervisor.printed()

    def close(self) -> None:
        """End its worker, if it has one; another is started if it is called again."""
        if self.residence is not None:
            self.residence.supervisor.close()

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Let the operations import modules of the implementation's folder, as they could when it was loaded."""
        if self.siblings is None:
            yield
        else:
            with self.siblings.importable():
                yield
