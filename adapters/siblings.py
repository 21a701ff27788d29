"""Imports from the folder of an implementation's file: `from helpers import …` finds its helpers.py.

Two files from two folders may each have a helpers.py. So the siblings of a file are in `sys.modules` only while the
file itself is imported or one of its operations runs, and each file keeps its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType

from veriformer.adapters.arrays import FRAMEWORKS

_NEVER_SIBLINGS = frozenset({*sys.stdlib_module_names, *FRAMEWORKS, "veriformer"})


@dataclass(eq=False)
class SiblingImports:
    """The folder of one implementation's file, and the modules that were imported from there."""

    folder: Path
    modules: dict[str, ModuleType] = field(default_factory=dict)
    _looked_at: dict[str, tuple[ModuleType, bool]] = field(default_factory=dict, repr=False)

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Make the folder's modules importable in this context, as for a script that is run there."""
        entry = str(self.folder)
        sys.path.insert(self._position, entry)
        displaced = _take_out(self._foreign())
        shared = {name for name in self.names if name in sys.modules}
        sys.modules.update(self.modules)
        count = len(sys.modules)
        try:
            yield
        finally:
            if len(sys.modules) != count:
                self._collect(shared)
            _take_out(self.modules)
            sys.modules.update(displaced)
            if entry in sys.path:
                sys.path.remove(entry)

    @cached_property
    def names(self) -> frozenset[str]:
        """The top-level names that can be imported from the folder."""
        entries = _listed(self.folder)
        files = {path.stem for path in entries if path.suffix == ".py"}
        folders = {path.name for path in entries if any(inner.suffix == ".py" for inner in _listed(path))}
        return frozenset(name for name in files | folders if name.isidentifier()) - _NEVER_SIBLINGS

    @cached_property
    def _position(self) -> int:
        return search_position(self.folder)

    def _foreign(self) -> list[str]:
        """Return the modules of the same names from elsewhere, which would be found instead."""
        tops = {name for name in self.names if name in sys.modules and self._is_hiding(sys.modules[name])}
        return [name for name in sys.modules if name.partition(".")[0] in tops] if tops else []

    def _is_hiding(self, module: ModuleType) -> bool:
        """Return whether a module hides one of the folder; its files are looked at once, not at each call."""
        known = self._looked_at.get(module.__name__)
        if known is None or known[0] is not module:
            known = self._looked_at[module.__name__] = (module, self._hides(module))
        return known[1]

    def _hides(self, module: ModuleType) -> bool:
        origin = getattr(module, "__file__", None)
        places = [origin] if origin else list(getattr(module, "__path__", ()))
        from_here = any(self.folder in Path(place).resolve().parents for place in places)
        regular_here = any((self.folder / form).exists() for form in _regular_forms(module.__name__))
        return not from_here and (regular_here or origin is None)

    def _collect(self, shared: set[str]) -> None:
        for name, module in list(sys.modules.items()):
            top = name.partition(".")[0]
            if top in self.names and top not in shared:
                self.modules[name] = module


def _listed(folder: Path) -> list[Path]:
    """Return the contents of a folder; nothing if it is none, or has been deleted meanwhile."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def search_position(folder: Path) -> int:
    """Return where in `sys.path` a folder belongs: first, or last when a file in it is called like a framework.

    Found first, a file called torch.py would be imported instead of torch.
    """
    return len(sys.path) if any((folder / f"{name}.py").exists() for name in FRAMEWORKS) else 0


def _regular_forms(name: str) -> tuple[str, str]:
    return f"{name}.py", f"{name}/__init__.py"


def _take_out(names: Iterable[str]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(names) if name in sys.modules}
