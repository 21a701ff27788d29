"""What code of another package raises while its operation is judged: that package is named, and the run goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from veriformer.adapters.errors import describe, formatted_traceback
from veriformer.conformance_tests.core.law import Law
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.extensions import package_of

R = TypeVar("R")


def blamed_on_its_package(operation: str, error: Exception) -> str:
    """Return the sentence that names the package of an operation; raise the error again where the operation is ours."""
    package = package_of(operation)
    if package is None:
        raise error
    return f"the package {package} cannot judge {operation}: its code raised {describe(error)}"


def sparing_other_laws(try_law: Callable[[R, Law], LawResult]) -> Callable[[R, Law], LawResult]:
    """Return the method with an error as its result where a package's own code raises."""

    @wraps(try_law)
    def tried(run: Any, law: Law) -> LawResult:
        try:
            return try_law(run, law)
        except Exception as error:
            reason = blamed_on_its_package(law.statement.operation.name, error)
            return LawResult(law.statement, "error", reason=reason, traceback=formatted_traceback(error))

    return tried
