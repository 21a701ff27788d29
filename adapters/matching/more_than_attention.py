"""What the code of an attention does besides attending: positions, norms of queries and keys, gates, feature maps.

Names in code are proposals: such a function is looked at as part of a layer, where numbers decide, and is no operation
that has none of this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from veriformer.adapters.capture.roles import have_roles
from veriformer.adapters.matching.names import words_of
from veriformer.adapters.matching.texts import called_name, tree_of

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
    r"|within (its |their |the )?(own )?(blocks?|chunks?|segments?)|retention|delta rule|recurrent|kernel feature"
    r"|(linear(ised|ized)?|sigmoid|quiet|hard|additive|kernel(ised|ized)) attention"
    r"|softmax-?(one|1|plus)|(one|1) more in the denominator|attends? to nothing)\b",
    re.IGNORECASE,
)
_NEAR_ONES = re.compile(r"\b(local|neighbou?r(s|hood|ing)?|nearby|at most \S+ (places|positions|tokens) away)\b", re.I)


def more_than_attention(function: Callable[..., Any]) -> str:
    """Return a word that says that a function does more than attend, or attends otherwise; empty where none does."""
    tree = tree_of(function)
    definitions = [] if tree is None else [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    return _said_by(definitions[0]) if definitions else ""


def attentions_in(place: str) -> list[str]:
    """Return the public functions of a file that are given queries, keys and values, and do more than attend."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    return [one.name for one in functions if have_roles(_arguments_of(one)) and _said_by(one)]


def _said_by(function: ast.FunctionDef) -> str:
    return _done_by(function) or _kind_of(function)


def _done_by(function: ast.FunctionDef) -> str:
    """Return a name in code that says what is done besides; what a default leaves off is not done."""
    if any(_POSITIONS.search(name) for name in _left_off(function)):
        return ""
    called = (called_name(node.func) for node in ast.walk(function) if isinstance(node, ast.Call))
    found = (*filter(_CALLED.search, called), *filter(_POSITIONS.search, _names(function)))
    return next(iter(found), "")


def _kind_of(function: ast.FunctionDef) -> str:
    """Return the word of a name or of documentation that says another kind; with a window, local is none."""
    said = f"{' '.join(words_of(function.name))} {ast.get_docstring(function) or ''}"
    has_window = any("window" in name for name in _arguments_of(function))
    found = _KINDS.search(said) or (None if has_window else _NEAR_ONES.search(said))
    return "" if found is None else found.group(0)


def _arguments_of(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def _left_off(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the arguments that are None or False by default."""
    named, defaults = function.args.kwonlyargs, function.args.kw_defaults
    by_place = zip(_arguments_of(function)[::-1], function.args.defaults[::-1], strict=False)
    for name, default in (*by_place, *zip((one.arg for one in named), defaults, strict=True)):
        if isinstance(default, ast.Constant) and (default.value is None or default.value is False):
            yield name


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code uses, without that of the function itself and of what it is annotated with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
