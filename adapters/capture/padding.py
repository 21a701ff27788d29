"""Which token a model takes for padding: by its configuration, its file's constants, its tables, or its code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from veriformer.adapters.capture.configuration import Plain, parts_of
from veriformer.adapters.matching.texts import tree_of

_NAME = re.compile(r"(^|_)pad(ding)?_?(tok(en)?_?)?(id|idx|index)$", re.IGNORECASE)
_CONSTANT = re.compile(r"^PAD(_TOKEN)?$")
_TOKENS = re.compile(
    r"^(x|y|s|t|w|idx?|ids|src|tgt|trg|text|source|target|seq|sequences?|inputs?|tokens?|.*(input|token|"
    r"src|tgt|source|target|decoder|encoder)_(ids|idx|tokens|seq))$"
)


# What a name in code stands for that speaks of padding.
_PAD = object()


def stated_padding(found: object, configuration: Mapping[str, Plain], home: object = None) -> int | None:
    """Return the token that a model states to be padding; None where it states none, or several.

    `configuration` is what the model says of itself, by where it stands, and `home` the module that it was found in.
    """
    constants = vars(home) if isinstance(home, ModuleType) else {}
    named = [*((name.rpartition(".")[2], value) for name, value in configuration.items()), *constants.items()]
    stated = [value for name, value in named if _NAME.search(name) or _CONSTANT.match(name)]
    known = {one for one in (*stated, *_of_tables(found)) if isinstance(one, int) and not isinstance(one, bool)}
    return known.pop() if len(known) == 1 and min(known) >= 0 else None


def _of_tables(found: object) -> Iterator[object]:
    """Yield the tokens that the tables of a torch module take for padding."""
    return (inspect.getattr_static(part, "padding_idx", None) for part in parts_of(found))


def compared_token(called: Callable[..., Any] | None, stated: int | None = None) -> int | None:
    """Return the token that code compares its token ids with; None where there is none, or are several.

    `ids != 0` in a forward pass, or `ids.ne(0)`, is how a model reads padding from its tokens by itself; what is called
    `pad_id` there is the token that is `stated`.
    """
    tree = None if called is None else tree_of(getattr(called, "forward", called))
    functions = [] if tree is None else [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    arguments = [one.arg for function in functions[:1] for one in (*function.args.posonlyargs, *function.args.args)]
    names = set(filter(_TOKENS.match, arguments))
    pairs = (pair for function in functions[:1] for node in ast.walk(function) for pair in _compared(node))
    compared = {stated if value is _PAD else value for name, value in pairs if name in names}
    found = {number for number in compared if type(number) is int and number >= 0}
    return found.pop() if len(found) == 1 else None


def _compared(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the name and the constant that a piece of code compares for equality."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        yield from _named(node.left, node.comparators[0])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("eq", "ne"):
        sides = node.args if len(node.args) > 1 else [node.func.value, *node.args]
        if len(sides) > 1:
            yield from _named(*sides[:2])


def _named(one: ast.expr, other: ast.expr) -> Iterator[tuple[str, object]]:
    if isinstance(one, ast.Name) and isinstance(other, ast.Constant):
        yield one.id, other.value
    elif isinstance(one, ast.Name) and isinstance(other, ast.Name | ast.Attribute):
        called = other.id if isinstance(other, ast.Name) else other.attr
        if _NAME.search(called) or _CONSTANT.match(called):
            yield one.id, _PAD
