"""Formulas that a learner writes, read without running them, and compared exactly."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy

_LONGEST = 200
_LARGEST_POWER = 100
_SPELLINGS = {"^": "**", "·": "*", "×": "*", "−": "-", "√": "sqrt", "∞": "oo"}
_FUNCTIONS = ("exp", "sqrt", "log", "ln")


class UnreadableFormula(ValueError):
    """A text is no formula; the message says what was read."""


def formulas(text: str, symbols: tuple[str, ...] = ()) -> tuple[sympy.Expr, ...]:
    """Return the formulas in a text, separated by commas; UnreadableFormula for anything else."""
    if len(text) > _LONGEST:
        raise UnreadableFormula(f"an answer has at most {_LONGEST} characters; this one has {len(text):,}")
    for written, meant in _SPELLINGS.items():
        text = text.replace(written, meant)
    inside = text.strip().strip("[]")
    try:
        tree = ast.parse(f"({inside},)" if inside else "()", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableFormula("it cannot be read as a formula, such as exp(2)/(exp(2) + 1)") from error
    if not isinstance(tree, ast.Tuple) or not tree.elts:
        raise UnreadableFormula("it is empty")
    return tuple(_value(node, symbols) for node in _flat(tree))


def same_value(first: sympy.Expr, second: sympy.Expr) -> bool:
    """Return whether two formulas have one value, whatever their symbols stand for."""
    import sympy

    difference = sympy.simplify(first - second)
    return bool(difference == 0 or difference.equals(0))


def is_near(first: sympy.Expr, second: sympy.Expr) -> bool:
    """Return whether two numbers agree to about three digits: one is the other, rounded."""
    if first.free_symbols or second.free_symbols:
        return False
    one, other = complex(first), complex(second)
    return abs(one - other) <= 2e-3 * max(abs(one), abs(other), 1e-3)


def _flat(tree: ast.Tuple) -> list[ast.expr]:
    """Return the entries of a tuple; a single entry that is a list or tuple itself is opened."""
    only = tree.elts[0] if len(tree.elts) == 1 else None
    return list(only.elts) if isinstance(only, ast.Tuple | ast.List) else list(tree.elts)


def _value(node: ast.expr, symbols: tuple[str, ...]) -> sympy.Expr:
    import sympy

    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return sympy.Rational(repr(node.value))
    if isinstance(node, ast.Name):
        return _named(node.id, symbols)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, symbols)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _combined(node.op, _value(node.left, symbols), _value(node.right, symbols))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _applied(node, symbols)
    raise UnreadableFormula("it has a part that is no number, sum, product, quotient, power, exp, sqrt or log")


def _named(name: str, symbols: tuple[str, ...]) -> sympy.Expr:
    import sympy

    constants: dict[str, Any] = {"e": sympy.E, "pi": sympy.pi}
    if name in symbols:
        return sympy.Symbol(name, positive=True)
    if name in constants:
        return constants[name]
    known = ", ".join((*symbols, *constants))
    raise UnreadableFormula(f"it has the name {name!r}; the names are {known}")


def _combined(operator: ast.operator, left: sympy.Expr, right: sympy.Expr) -> sympy.Expr:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Div):
        if right == 0:
            raise UnreadableFormula("it divides by zero")
        return left / right
    # Two large powers, one in the other, would take all memory.
    if isinstance(operator, ast.Pow) and abs(right) <= _LARGEST_POWER and abs(left) <= 10**9:
        return left**right
    raise UnreadableFormula(f"it has an operation that is not known here, or a power above {_LARGEST_POWER}")


def _applied(node: ast.Call, symbols: tuple[str, ...]) -> sympy.Expr:
    import sympy

    if len(node.args) != 1 or node.keywords or not isinstance(node.func, ast.Name):
        raise UnreadableFormula("exp, sqrt and log take one number")
    argument = _value(node.args[0], symbols)
    function = {"exp": sympy.exp, "sqrt": sympy.sqrt, "log": sympy.log, "ln": sympy.log}[node.func.id]
    return function(argument)
