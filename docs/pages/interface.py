"""The tables of `interface.md`: the page is written by hand, its tables are drawn from the catalogues."""

from __future__ import annotations

from pathlib import Path

from veriformer.spec.conventions import CONVENTIONS, Convention
from veriformer.spec.operations import OPERATIONS, Operation, Parameter

from pages.markdown import code, filled, table

PATH = "interface.md"


def interface_page(folder: Path) -> dict[str, str]:
    """Return the page in `folder` with its tables as the catalogues have them, by its path.

    ValueError when the page has no place for a table.
    """
    text = (folder / PATH).read_text(encoding="utf-8")
    for name, content in (("operations", _operations()), ("conventions", _conventions())):
        text = filled(text, name, content)
    return {PATH: text}


def _operations() -> str:
    header = ("operation", "arguments", "optional keywords", "result")
    return table(header, (_operation_row(operation) for operation in OPERATIONS.values()))


def _operation_row(operation: Operation) -> tuple[str, ...]:
    return code(operation.name), _arguments(operation), _features(operation), code(operation.result)


def _arguments(operation: Operation) -> str:
    positional = [_shaped(item) for item in operation.parameters if item.requirement == "positional"]
    by_name = [f"{_shaped(item)} by name" for item in operation.parameters if item.requirement == "keyword"]
    return "; ".join(positional + by_name)


def _features(operation: Operation) -> str:
    return "; ".join(_shaped(operation.parameter(name)) for name in operation.features)


def _shaped(parameter: Parameter) -> str:
    kind = f"{parameter.kind} " if parameter.kind in ("bool", "int") else ""
    return f"{code(parameter.name)} {kind}{parameter.shape}".strip()


def _conventions() -> str:
    header = ("convention", "values, the standard one first", "where nothing is declared")
    return table(header, (_convention_row(convention) for convention in CONVENTIONS.values()))


def _convention_row(convention: Convention) -> tuple[str, ...]:
    values = " · ".join(map(code, convention.value_names))
    return code(convention.name), values, _undeclared(convention)


def _undeclared(convention: Convention) -> str:
    must_be_declared = [code(value.name) for value in convention.values if not value.inferred]
    exception = f"; {' and '.join(must_be_declared)} only if declared" if must_be_declared else ""
    if len(convention.inferred_values) == 1:
        return f"{code(convention.standard)}{exception}"
    noticed = [code(value.name) for value in convention.values if value.seldom_meant]
    with_notice = f"; {' and '.join(noticed)} with a notice" if noticed else ""
    return f"found by probing{with_notice}{exception}"
