"""Where an equation of JAX comes from: the user's line, and the module that was running."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

import jax
from veriformer.adapters.capture.carried import COMPILED

_FRAMEWORKS = ("jax", "jaxlib", "flax", "equinox", "keras", "jaxtyping", "numpy")
# As the interpreter names it in its frames, which may be by a link.
_OWN_FOLDER = str(Path(__file__).parent)
# The path of a module, as a scope of JAX's name stack.
_MARK = "module of the model: "
# Other scopes are the specifications of einsum and the like, unless they look like names.
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")


@dataclass(frozen=True)
class Place:
    """A module of the model and a line of code; `whose` says how good the line is.

    `path` is that of a module where `is_marked`, otherwise the named scopes of a model without modules.
    """

    path: tuple[str, ...] = ()
    is_marked: bool = False
    file: str = ""
    line: int = 0
    whose: str = "nobody"

    @property
    def module(self) -> str:
        """The path in words of the trace: "blocks.0.attention"."""
        return ".".join(self.path)


def place_of(equation: Any, outer: Place) -> Place:
    """Return where an equation comes from, which lies in a function called at `outer`.

    The user's line inside that function is best; then the user's line that called it; then a library's line.
    """
    scopes = [scope.name for scope in equation.source_info.name_stack.stack if type(scope).__name__ == "Scope"]
    marked = [scope.removeprefix(_MARK) for scope in scopes if scope.startswith(_MARK)]
    path = (*outer.path, *(scope for scope in scopes if _NAME.fullmatch(scope)))
    if marked or outer.is_marked:
        path = (marked[-1],) if marked else outer.path
    file, line, whose = _line(equation.source_info.traceback)
    if whose == "nobody" or (whose == "library" and outer.whose == "user"):
        file, line, whose = outer.file, outer.line, outer.whose
    return Place(path, bool(marked) or outer.is_marked, file, line, whose)


@contextmanager
def modules_marked(paths: Mapping[int, str], modules: list[Any]) -> Iterator[None]:
    """Let each module, when it is called, open a scope with its path: `paths` by the identity of the module."""
    kinds: set[Any] = {kind for kind in map(type, modules) if any("__call__" in vars(base) for base in kind.__mro__)}
    own: dict[Any, Any] = {kind: vars(kind)["__call__"] for kind in kinds if "__call__" in vars(kind)}
    try:
        # All are read before the first is replaced, because one kind may inherit from another.
        for kind, call in [(kind, kind.__call__) for kind in kinds]:
            kind.__call__ = _marking(call, paths)
        yield
    finally:
        for kind in kinds:
            if kind in own:
                kind.__call__ = own[kind]
            elif "__call__" in vars(kind):
                del kind.__call__


def _marking(call: Callable[..., Any], paths: Mapping[int, str]) -> Callable[..., Any]:
    while type(call).__name__ in COMPILED and hasattr(call, "__wrapped__"):
        # Inside, the modules would be copies, of which nobody knows the paths.
        call = call.__wrapped__

    @wraps(call, updated=())
    def marked(self: Any, *arguments: Any, **keywords: Any) -> Any:
        path = paths.get(id(self))
        if path is None:
            return call(self, *arguments, **keywords)
        with jax.named_scope(_MARK + path):
            return call(self, *arguments, **keywords)

    return marked


def _line(traceback: Any) -> tuple[str, int, str]:
    """Return file, line and whose it is, of the innermost good frame inside the function being traced."""
    library = ("", 0, "nobody")
    for frame in traceback.frames if traceback is not None else ():
        # What lies further out called the function when it was traced first, perhaps from another place than now.
        if frame.function_name.startswith("trace_to_jaxpr"):
            break
        whose = _owner(frame.file_name)
        if whose == "user":
            return frame.file_name, frame.line_num, whose
        if whose == "library" and not library[0]:
            library = (frame.file_name, frame.line_num, whose)
    return library


@cache
def _owner(file: str) -> str:
    """Return whose a file is: "user", "library", or "nobody" for the frameworks, this package and Python itself."""
    if file.startswith(("<", _OWN_FOLDER)) or any(file.startswith(folder) for folder in _framework_folders()):
        return "nobody"
    if {"site-packages", "dist-packages"} & set(Path(file).parts):
        return "library"
    return "nobody" if file.startswith(sysconfig.get_paths()["stdlib"]) else "user"


def _framework_folders() -> list[str]:
    found = (getattr(sys.modules.get(name), "__file__", None) for name in _FRAMEWORKS)
    return [f"{Path(file).parent}/" for file in found if file]
