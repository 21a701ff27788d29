"""How the code of a model makes a cache that needs arguments: by a method of its own, or as its other methods do."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any


def makers_of(called: Any, kinds: Sequence[type]) -> list[Callable[[], Any]]:
    """Return what makes a cache for a model whose pass `called` is: its methods, then calls of the classes in its code.

    A call counts whose arguments are known of the model alone: `KVCache(self.config.n_layer)`.
    """
    model = getattr(called, "__self__", None)
    if model is None or inspect.ismodule(model) or isinstance(model, type):
        return []
    names = [kind.__name__ for kind in kinds]
    return [*_methods(model), *_calls(model, names)]


def _methods(model: Any) -> Iterator[Callable[[], Any]]:
    for name, function in inspect.getmembers(type(model), inspect.isfunction):
        if "cache" not in name.casefold() or function.__module__.partition(".")[0] in ("torch", "keras", "flax"):
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        if all(one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
            yield partial(function, model)


def _calls(model: Any, names: Sequence[str]) -> Iterator[Callable[[], Any]]:
    """Yield the expressions in the methods of a model that make an object of one of the classes, or a list of such."""
    home = inspect.getmodule(type(model))
    known = {} if home is None else vars(home)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(type(model))))
    except (OSError, TypeError, SyntaxError):
        return
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ListComp | ast.Call) and _makes(node, names)]
    # A list of caches is meant where one is made for each layer.
    for node in sorted(found, key=lambda one: not isinstance(one, ast.ListComp)):
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<cache>", "eval")
        yield partial(eval, code, {**known, "self": model})


def _makes(node: ast.ListComp | ast.Call, names: Sequence[str]) -> bool:
    made = node.elt if isinstance(node, ast.ListComp) else node
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id in names
