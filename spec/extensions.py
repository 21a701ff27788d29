"""Operations of other packages: found by their entry points, loaded when a catalogue is first read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from veriformer.spec.laws.law import LawStatement
    from veriformer.spec.operations.operation import Operation

# The group of the entry points, each of which names the extension of a package.
GROUP = "veriformer.suites"
T = TypeVar("T")


@dataclass(frozen=True)
class Stated:
    """The operations and laws of a package, without the common laws of all operations."""

    operations: tuple[Operation, ...]
    laws: tuple[LawStatement, ...]


@dataclass(frozen=True, eq=False)
class Installed:
    """The extensions by their packages, and a sentence for each unusable extension.

    Any, because the conformance tests add suites, mistakes and sources to an extension.
    """

    by_package: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def extensions(self) -> tuple[Any, ...]:
        """Every extension, in the order of the packages' names."""
        return tuple(chain.from_iterable(self.by_package.values()))


class _Unusable(Exception):
    """What is wrong with an extension."""


_found: list[Installed] = []


def installed() -> Installed:
    """Return the extensions of the installed packages, which are loaded at the first call."""
    if not _found:
        # What the packages import meanwhile sees none of them.
        _found.append(Installed())
        _found[0] = _loaded(entry_points(group=GROUP))
    return _found[0]


def package_of(operation: str) -> str | None:
    """Return the package that adds an operation; None for one of ours."""
    added = ((name, one) for name, extensions in installed().by_package.items() for one in extensions)
    return next((name for name, one in added if operation in {its.name for its in one.operations}), None)


class Catalogue(Mapping[str, T], Generic[T]):
    """Entries of our own, and behind them those of installed packages."""

    def __init__(self, own: Mapping[str, T], of_extension: Callable[[Any], Mapping[str, T]]) -> None:
        self.own = own
        self._of_extension = of_extension
        self._installed: Installed | None = None
        self._entries: Mapping[str, T] = own

    def _all(self) -> Mapping[str, T]:
        if (found := installed()) is not self._installed:
            self._installed, entries = found, dict(self.own)
            for extension in found.extensions:
                entries |= self._of_extension(extension)
            self._entries = entries
        return self._entries

    def __getitem__(self, name: str) -> T:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def _loaded(points: Iterable[EntryPoint]) -> Installed:
    accepted: dict[str, tuple[Stated, ...]] = {}
    problems = []
    for point in sorted(points, key=lambda point: (_package(point), point.name)):
        package = _package(point)
        try:
            extension = _extension(point)
            _refuse_clashes(extension, tuple(chain.from_iterable(accepted.values())))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            what = str(error) if isinstance(error, _Unusable) else f"it raises {type(error).__name__}: {error}"
            problems.append(
                f"the package {package} adds no operations, because {what} "
                f"(its entry point {point.name} = {point.value}); repair it or uninstall it"
            )
        else:
            accepted[package] = (*accepted.get(package, ()), extension)
    return Installed(accepted, tuple(problems))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _extension(point: EntryPoint) -> Stated:
    extension = point.load()
    if not isinstance(extension, Stated):
        kind = type(extension).__name__
        raise _Unusable(f"it names an object of type {kind}, not a veriformer.conformance_tests.suite.Extension")
    return extension


def _refuse_clashes(extension: Any, others: Sequence[Any]) -> None:
    """Raise _Unusable where an operation has a name or a prefix that another one has, or that is no identifier, and
    where a source has the name of one of another extension.
    """
    from veriformer.spec.operations import OPERATIONS

    known = [*OPERATIONS.own.values(), *(operation for other in others for operation in other.operations)]
    for place, operation in enumerate(extension.operations):
        # With a dot in a prefix, two laws could have one id.
        if not (operation.name.isidentifier() and operation.prefix.isidentifier()):
            raise _Unusable(f"the name {operation.name!r} or the prefix {operation.prefix!r} is not an identifier")
        for one in (*known, *extension.operations[:place]):
            if operation.name == one.name:
                raise _Unusable(f"an operation called {one.name} exists already; give its own another name")
            if operation.prefix == one.prefix:
                raise _Unusable(f"the laws of {one.name} have the prefix {one.prefix!r} already; choose another one")
    for name in chain.from_iterable(other.sources for other in others):
        if name in extension.sources:
            raise _Unusable(f"a source called {name} exists already; give its own another name")
