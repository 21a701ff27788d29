"""Operations of other packages: found by their entry points, loaded when a catalogue is first read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from veriformer.spec.laws.law import LawStatement
    from veriformer.spec.operations.operation import Operation

# The group of the entry points, each of which names the extension of a package.
GROUP = "veriformer.suites"
T = TypeVar("T")


class Extension(Protocol):
    """What a package adds; the conformance tests know of its suites and mistakes besides."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Its operations."""
        ...

    @property
    def laws(self) -> tuple[LawStatement, ...]:
        """Their laws, without those that every operation has."""
        ...


@dataclass(frozen=True, eq=False)
class Installed:
    """The extensions of the installed packages, and a sentence for each package whose extension is of no use."""

    extensions: tuple[Any, ...] = ()
    problems: tuple[str, ...] = ()


class _Unusable(Exception):
    """What is wrong with an extension."""


class _Packages:
    """The installed packages; while they are loaded, what they import sees none of them."""

    def __init__(self) -> None:
        self._found = Installed()
        self._asked = False

    def installed(self) -> Installed:
        if not self._asked:
            self._asked = True
            self._found = _loaded(entry_points(group=GROUP))
        return self._found


_PACKAGES = _Packages()


def installed() -> Installed:
    """Return the extensions of the installed packages, which are loaded at the first call."""
    return _PACKAGES.installed()


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
    accepted: list[Extension] = []
    problems = []
    for point in sorted(points, key=lambda point: (_package(point), point.name)):
        try:
            extension = _extension(point)
            _refuse_clashes(extension, accepted)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            what = str(error) if isinstance(error, _Unusable) else f"it raises {type(error).__name__}: {error}"
            problems.append(
                f"the package {_package(point)} adds no operations, because {what} "
                f"(its entry point {point.name} = {point.value}); repair it or uninstall it"
            )
        else:
            accepted.append(extension)
    return Installed(tuple(accepted), tuple(problems))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def _extension(point: EntryPoint) -> Extension:
    extension: Extension = point.load()
    if not all(hasattr(extension, name) for name in ("operations", "laws", "suites")):
        kind = type(extension).__name__
        raise _Unusable(f"it names an object of type {kind}, not a veriformer.conformance_tests.suite.Extension")
    return extension


def _refuse_clashes(extension: Extension, others: Iterable[Extension]) -> None:
    """Raise _Unusable where an operation has a name or a prefix that another one has."""
    from veriformer.spec.operations import OPERATIONS

    known = [*OPERATIONS.own.values(), *(operation for other in others for operation in other.operations)]
    for place, operation in enumerate(extension.operations):
        for one in (*known, *extension.operations[:place]):
            if operation.name == one.name:
                raise _Unusable(f"an operation called {one.name} exists already; give its own another name")
            if operation.prefix == one.prefix:
                raise _Unusable(f"the laws of {one.name} have the prefix {one.prefix!r} already; choose another one")
