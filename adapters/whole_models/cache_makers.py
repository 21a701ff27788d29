"""How the code of a model makes a cache that needs arguments: by a method of its own, or as its other methods do."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

Maker = Callable[[int, int], Any]
"""What makes a cache for so many samples and positions."""

_SAMPLES = re.compile(r"^(max_)?(b|bs|bsz|batch|n_?samples)(_?size)?$")
_POSITIONS = re.compile(
    r"^((max_?)?(t|n|s|seq|sequence|ctx|context|cache|tokens|length|len)(_?(len|length|size))?|n_(ctx|positions|tokens)|"
    r"(max_?)?capacity|size|max_(new_)?tokens)$"
)
_FRAMEWORKS = ("torch", "keras", "flax")
_CATCHING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def for_any_size(make: Callable[[], Any]) -> Maker:
    """Return a maker of a cache that serves any number of samples and positions."""
    return lambda _samples, _positions: make()


def makers_of(called: Any, kinds: Sequence[type]) -> list[Maker]:
    """Return what makes a cache for a model whose pass `called` is: its methods, then calls of the classes in its code.

    A call counts whose arguments are known of the model alone: `KVCache(self.config.n_layer)`; a method may ask for
    the number of samples and of positions too: `new_cache(batch_size, max_len)`.
    """
    model = model_of(called)
    if model is None:
        return []
    names = [kind.__name__ for kind in kinds]
    return [*_methods(model), *map(for_any_size, _calls(model, names))]


def model_of(called: Any) -> Any:
    """Return the object whose pass it is: that of a method, or an object that is called itself; None for functions."""
    is_object = callable(called) and not inspect.isroutine(called) and not isinstance(called, partial)
    model = getattr(called, "__self__", called if is_object else None)
    return None if inspect.ismodule(model) or isinstance(model, type) else model


def _methods(model: Any) -> Iterator[Maker]:
    for name, function in inspect.getmembers(type(model), inspect.isfunction):
        if "cache" not in name.casefold() or function.__module__.partition(".")[0] in _FRAMEWORKS:
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        needed = [one for one in parameters if one.default is one.empty and one.kind not in _CATCHING]
        if all(_SAMPLES.match(one.name) or _POSITIONS.match(one.name) for one in needed):
            sized = [one.name for one in parameters if _SAMPLES.match(one.name) or one in needed]
            yield partial(_made, partial(function, model), sized)


def _made(make: Callable[..., Any], sized: Sequence[str], samples: int, positions: int) -> Any:
    return make(**{name: samples if _SAMPLES.match(name) else positions for name in sized})


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
