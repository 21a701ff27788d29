"""`api.md`: what is used from Python, as its own docstrings and types have it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import veriformer
from veriformer.conformance_tests import strategies

from pages.markdown import code, notice, page, prose

PATH = "api.md"

_LONGEST_LINE = 88
_ITEM = re.compile(r"^`[^`]+`(, `[^`]+`)*(: | and | are | is )")
_INTRODUCTION = """\
Everything below is imported from `veriformer`, the strategies from `veriformer.conformance_tests.strategies`. The
[interface](interface.md) says what an implementation under test looks like, and what else other packages may use."""


def api_page() -> dict[str, str]:
    """Return the page, by its path."""
    sections = [_section(f"veriformer.{name}", value) for name, value in public()]
    drawn = [_section(f"strategies.{name}", value) for name, value in public_strategies()]
    parts = ("## Checks and reports", *sections, "## Strategies of Hypothesis", *drawn)
    return {PATH: page(notice("package/__init__.py"), "# Python", _INTRODUCTION, *parts)}


def public() -> Iterator[tuple[str, Any]]:
    """Yield what `veriformer` offers, functions before classes, by name."""
    found = {name: getattr(veriformer, name) for name in veriformer.__all__ if not name.startswith("_")}
    yield from sorted(found.items(), key=lambda item: (isinstance(item[1], type), item[0]))


def public_strategies() -> Iterator[tuple[str, Any]]:
    """Yield what the module of strategies offers, functions before classes."""
    found = {name: getattr(strategies, name) for name in strategies.__all__}
    yield from sorted(found.items(), key=lambda item: (isinstance(item[1], type), item[0]))


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public properties and methods of a class and of its bases in this package."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.startswith("veriformer."):
            for name, value in vars(base).items():
                own = isinstance(value, property) or inspect.isfunction(value)
                if own and not name.startswith("_") and name not in seen:
                    seen.add(name)
                    yield name, value


def _section(path: str, value: Any) -> str:
    name = path.rpartition(".")[2]
    if isinstance(value, type):
        entries = [_member(name, member, one) for member, one in members(value)]
        return page(f"### {code(path)}", _python(_class(name, value)), documented(value.__doc__ or ""), *entries)
    return page(f"### {code(path)}", _python(signature(name, value)), documented(value.__doc__ or ""))


def _member(of: str, name: str, value: Any) -> str:
    if isinstance(value, property):
        kind = str(inspect.signature(value.fget).return_annotation)  # type: ignore[arg-type]
        return page(f"#### {code(f'{of}.{name}')}", f"{code(kind)}: {_in_text(inspect.getdoc(value) or '')}")
    return page(f"#### {code(f'{of}.{name}')}", _python(signature(name, value)), documented(value.__doc__ or ""))


def _class(name: str, kind: type) -> str:
    """Return the members of a record with their types; of another class its name."""
    if not is_dataclass(kind):
        return f"class {name}"
    lines = [f"    {one.name}: {one.type}{_default(one)}" for one in fields(kind)]
    return "\n".join([f"class {name}:", *lines])


def _default(one: Field[Any]) -> str:
    return "" if one.default is MISSING else f" = {one.default!r}"


def signature(name: str, function: Any) -> str:
    """Return how a function is called, with its types: on one line, or each parameter on its own."""
    found = inspect.signature(function)
    parts: list[str] = []
    for one in found.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in parts and not any(part.startswith("*") for part in parts):
            parts.append("*")
        parts.append(_parameter(one))
    returned = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) <= _LONGEST_LINE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returned}"])


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = "" if one.annotation is one.empty else f": {one.annotation}"
    default = "" if one.default is one.empty else f" = {one.default!r}" if kind else f"={one.default!r}"
    return f"{stars}{one.name}{kind}{default}"


def documented(text: str) -> str:
    """Return a docstring as Markdown: its paragraphs, and its lists of parameters or members as lists."""
    return page(*(_paragraph(one) for one in re.split(r"\n\s*\n", inspect.cleandoc(text)) if one.strip()))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if all(line.startswith("    ") for line in lines):
        return f"```text\n{textwrap.dedent(text)}\n```"
    items: list[str] = []
    for line in lines:
        if _ITEM.match(line) or not items:
            items.append(line.strip())
        else:
            items[-1] += f" {line.strip()}"
    listed = _ITEM.match(items[0]) and len(items) > 1
    return "\n".join(f"- {_in_text(one)}" for one in items) if listed else _in_text(" ".join(items))


def _in_text(text: str) -> str:
    """Return text with what stands between backticks as code, and the rest as prose."""
    parts = " ".join(text.split()).split("`")
    return "".join(code(part) if number % 2 else prose(part) for number, part in enumerate(parts))


def _python(text: str) -> str:
    return f"```python\n{text}\n```"
