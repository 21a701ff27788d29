"""Veriformer answers one question: is this Transformer right?

    from veriformer import check, compare, identify

    check(attention)                            a function, by its name, its parameters and its results
    check(attention, operation="scaled_dot_product_attention")
    check({"softmax": my_softmax})              functions by the names of operations
    check(model)                                a whole model: torch, Flax, Equinox, Keras, JAX, NumPy
    check("my_attention.py")                    a file; "my_gpt.py:GPT" something in it
    compare(torch_model, flax_model)            where and why two implementations or models differ
    identify("my_attention.py")                 the conventions that an implementation obeys

Each returns a report that prints itself, shows itself in a notebook, and has an `exit_status` and a `verdict`. On the
command line: `veriformer check my_attention.py`, or `python -m veriformer check my_attention.py`. `veriformer docs`
opens the documentation. `parametrize_with_laws("my_attention.py")` makes one pytest test of each law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veriformer.conformance_tests import (
        Comparison,
        Identification,
        PortComparison,
        Report,
        check,
        compare,
        identify,
        parametrize_with_laws,
    )

    __version__: str

__all__ = [
    "Comparison",
    "Identification",
    "PortComparison",
    "Report",
    "__version__",
    "check",
    "compare",
    "identify",
    "parametrize_with_laws",
]


def __getattr__(name: str) -> Any:
    # Importing the package stays cheap: pytest and the command line do it at every start.
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from veriformer import conformance_tests

    return getattr(conformance_tests, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("veriformer")
    except PackageNotFoundError:
        return "0"
