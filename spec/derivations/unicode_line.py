"""Expressions on one line of running text: x², √d_k, Σ_(j = 1..n) p_j, no notation of a programming language."""

# ruff: noqa: N802, N815  # SymPy calls the methods by these names

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.str import StrPrinter

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ADDITION, _PRODUCT, _POWER = range(3)


def letter(name: str) -> str:
    """A name as a letter with its index: σ_q for sigma_q, ℓ for ell."""
    stem, *rest = name.split("_")
    primes = stem[len(stem.rstrip("'")) :]
    letters = "ℓ" if stem == "ell" else str(pretty_symbol(stem.rstrip("'"))) + primes
    return "_".join([letters, *rest])


class UnicodeLine(StrPrinter):  # type: ignore[misc]
    """Mathematics as it is written in a sentence."""

    printmethod = "_unicode_line"

    def _print_Symbol(self, symbol: Any) -> str:
        return letter(symbol.name)

    _print_Dummy = _print_Symbol

    def _print_IndexedBase(self, base: Any) -> str:
        return letter(str(base.label))

    def _print_Indexed(self, entry: Any) -> str:
        base = self._print(entry.base)
        return f"{f'({base})' if '_' in base else base}_{_indices([self._print(one) for one in entry.indices])}"

    def _print_KroneckerDelta(self, delta: Any) -> str:
        return f"δ_{_indices([self._print(one) for one in delta.args])}"

    def _print_Function(self, function: Any) -> str:
        inside = ", ".join(self._print(argument) for argument in function.args)
        return f"{letter(type(function).__name__)}({inside})"

    def _print_UndefinedFunction(self, function: Any) -> str:
        return letter(function.__name__)

    def _print_Expectation(self, mean: Any) -> str:
        return f"E[{self._print(mean.args[0])}]"

    def _print_Variance(self, variance: Any) -> str:
        return f"Var({self._print(variance.args[0])})"

    def _print_Partial(self, derivative: Any) -> str:
        function, variable = derivative.args
        return f"∂({self._print(function)})/∂{self._print(variable)}"

    def _print_Quotient(self, quotient: Any) -> str:
        numerator, divisor = quotient.args
        return f"⌊{self._within(numerator, _PRODUCT)}/{self._within(divisor, _POWER)}⌋"

    def _print_Remainder(self, remainder: Any) -> str:
        numerator, divisor = remainder.args
        return f"{self._within(numerator, _PRODUCT)} mod {self._within(divisor, _POWER)}"

    def _print_exp(self, power: Any) -> str:
        return f"e^{self._exponent(power.args[0])}"

    def _print_Exp1(self, base: Any) -> str:
        return "e"

    def _print_log(self, logarithm: Any) -> str:
        return f"ln({self._print(logarithm.args[0])})"

    def _print_Pi(self, number: Any) -> str:
        return "π"

    def _print_Infinity(self, number: Any) -> str:
        return "∞"

    def _print_NegativeInfinity(self, number: Any) -> str:
        return "−∞"

    def _print_Integer(self, number: Any) -> str:
        return str(number).replace("-", "−")

    _print_Rational = _print_Float = _print_Integer

    def _print_Sum(self, summation: Any) -> str:
        signs = [
            f"Σ_({self._print(index)} = {self._print(low)}..{self._print(high)})"
            for index, low, high in reversed(summation.limits)
        ]
        return f"{' '.join(signs)} {self._within(summation.function, _PRODUCT)}"

    def _print_Add(self, addition: Any, order: Any = None) -> str:
        together = sympy.together(addition)
        if sympy.fraction(together)[1].is_Integer and sympy.fraction(together)[1] != 1:
            return str(self._print(together))
        terms = sorted(self._as_ordered_terms(addition), key=lambda term: term.could_extract_minus_sign())
        text = self._print(terms[0]) if terms[0].is_Mul else self._within(terms[0], _PRODUCT)
        for term in terms[1:]:
            negative = term.could_extract_minus_sign()
            text += f" {'−' if negative else '+'} {self._within(-term if negative else term, _PRODUCT)}"
        return text

    def _print_Mul(self, product: Any) -> str:
        if product.could_extract_minus_sign():
            return f"−{self._within(-product, _PRODUCT)}"
        numerator, denominator = sympy.fraction(product, exact=True)
        if denominator != 1:
            return f"{self._within(numerator, _PRODUCT)}/{self._within(denominator, _POWER)}"
        # A sum reaches to the end of the term: it comes last.
        factors = sorted(numerator.as_ordered_factors(), key=lambda factor: isinstance(factor, sympy.Sum))
        *first, last = factors
        texts = [self._within(factor, _PRODUCT) for factor in first]
        return " ".join([*texts, self._print(last) if isinstance(last, sympy.Sum) else self._within(last, _PRODUCT)])

    def _print_Pow(self, power: Any, rational: bool = False) -> str:
        base, exponent = power.as_base_exp()
        if base.is_Pow:
            return f"({self._print(base)})^{self._exponent(exponent)}"
        if exponent.is_number and exponent.is_negative:
            return f"1/{self._within(base**-exponent, _POWER)}"
        if exponent == sympy.Rational(1, 2):
            return f"√{self._within(base, _POWER)}"
        if exponent.is_Integer:
            return self._within(base, _POWER) + str(exponent).translate(SUPERSCRIPTS)
        return f"{self._within(base, _POWER)}^{self._exponent(exponent)}"

    def _exponent(self, exponent: Any) -> str:
        text = self._print(exponent)
        return text if exponent.is_Atom and not text.startswith("−") else f"({text})"

    def _within(self, part: Any, strength: int) -> str:
        """A part in parentheses where what surrounds it binds more strongly."""
        text = self._print(part)
        return f"({text})" if _strength(part) < strength else str(text)


def _strength(part: Any) -> int:
    if part.is_Add or isinstance(part, sympy.Sum) or (part.is_number and part.is_negative):
        return _ADDITION
    fraction = part.is_Rational and not part.is_Integer
    reciprocal = part.is_Pow and part.exp.is_number and part.exp.is_negative
    return _PRODUCT if part.is_Mul or fraction or reciprocal else _POWER


def _indices(texts: list[str]) -> str:
    """Indices of one character each stand side by side, numbers between commas, and others in parentheses."""
    if any(len(text.rstrip("'")) > 1 for text in texts):
        return f"({', '.join(texts)})"
    return ("," if len(texts) > 1 and any(text.isdigit() for text in texts) else "").join(texts)
