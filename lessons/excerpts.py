"""The part of a program that one of its functions needs, for a reader."""

from __future__ import annotations

import ast


def excerpt(text: str, name: str) -> str:
    """Return the imports of a program, and the definitions that the function `name` needs, in their order."""
    tree = ast.parse(text)
    defined = {one: node for node in tree.body for one in _defines(node)}
    needed: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in defined and one not in needed:
            needed.add(one)
            waiting += [node.id for node in ast.walk(defined[one]) if isinstance(node, ast.Name)]
    kept = [node for node in tree.body if needed & set(_defines(node))]
    imports = [node for node in kept if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in kept if node not in imports]
    parts = ["\n".join(_source(text, node) for node in imports), *(_source(text, node) for node in others)]
    return "\n\n\n".join(part for part in parts if part) + "\n"


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return []


def _source(text: str, node: ast.stmt) -> str:
    lines = text.splitlines()
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return "\n".join(lines[first - 1 : node.end_lineno])
