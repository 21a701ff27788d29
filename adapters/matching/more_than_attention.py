"""What the code of an attention does besides attending: positions, norms of queries and keys, gates, feature maps.

Names in code are proposals: such a function is looked at as part of a layer, where numbers decide, and is no operation
that has none of this.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from veriformer.adapters.capture.roles import have_roles
from veriformer.adapters.matching.names import Taking, parameters_of, words_of
from veriformer.adapters.matching.texts import tree_of

_POSITIONS = re.compile(
    r"rope|rotary|rotat|freqs?_?cis|^(cos|sin)$|^(cos|sin)_|_(cos|sin)$|^polar$|alibi|slopes?$|rel(ative)?_?(pos|bias)"
    r"|bucket|pos(ition)?_?(bias|emb)",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"^normali[sz]e$|^(rms|layer|l2|qk|q|k)_?norm(ali[sz]e)?$|^norm$|^(elu|sigmoid|silu|cumsum)$|feature_?map|^phi$"
    r"|kernel_?fn",
    re.IGNORECASE,
)
# Kinds of attention that hide keys, or weigh them, otherwise than the interface's: what a name or documentation says.
_KINDS = re.compile(
    r"\b(dilat(ed|ion)|strid(ed|e)|sparse(max)?|entmax|top-?k|block-?diagonal|block-?sparse|prefix-?lm|gumbel|cosine"
    r"|within (its |their |the )?(own )?(blocks?|chunks?|segments?)|(linear(ised|ized)?|sigmoid|quiet|hard) attention"
    r"|softmax-?(one|1|plus)|(one|1) more in the denominator|attends? to nothing)\b",
    re.IGNORECASE,
)
_NEAR_ONES = re.compile(r"\b(local|neighbou?r(s|hood|ing)?|nearby|at most \S+ (places|positions|tokens) away)\b", re.I)


def kind_of_attention(function: Callable[..., Any], name: str, *, has_window: bool) -> str:
    """Return the word of a name or of documentation that says that an attention is of another kind; empty for none.

    One that is told its window is local by that.
    """
    return _kind_said(name, inspect.getdoc(inspect.unwrap(function)) or "", has_window=has_window)


def _kind_said(name: str, documented: str, *, has_window: bool) -> str:
    said = f"{' '.join(words_of(name))} {documented}"
    found = _KINDS.search(said) or (None if has_window else _NEAR_ONES.search(said))
    return "" if found is None else found.group(0)


def more_than_attention(function: Callable[..., Any]) -> str:
    """Return a name in a function's code that says that it does more than attend; empty where none does.

    What a parameter turns on, and its default leaves off, is none of it.
    """
    tree = tree_of(function)
    return "" if tree is None or _may_do_less(parameters_of(function) or []) else _said_in(tree)


def _may_do_less(takings: Sequence[Taking]) -> bool:
    return any(one.has_default and one.default in (None, False) and _POSITIONS.search(one.name) for one in takings)


def _said_in(tree: ast.AST) -> str:
    called = (_last(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = (*filter(_CALLED.search, called), *filter(_POSITIONS.search, _names(tree)))
    return next(iter(found), "")


def attentions_in(place: str) -> list[str]:
    """Return the public functions of a file that are given queries, keys and values, and do more than attend."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    given = {one.name: [arg.arg for arg in (*one.args.posonlyargs, *one.args.args)] for one in functions}
    kinds = {
        one.name: _kind_said(
            one.name, ast.get_docstring(one) or "", has_window=any("window" in arg for arg in given[one.name])
        )
        for one in functions
    }
    return [one.name for one in functions if have_roles(given[one.name]) and (_said_in(one) or kinds[one.name])]


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code uses, without that of the function itself and of what it is annotated with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def _last(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
