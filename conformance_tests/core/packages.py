"""What code of another package raises while its operation is judged: that package is named, and the run goes on."""

from __future__ import annotations

from veriformer.adapters.errors import describe
from veriformer.spec.extensions import package_of


def blamed_on_its_package(operation: str, error: Exception) -> str:
    """Return the sentence that names the package of an operation; raise the error again where the operation is ours."""
    package = package_of(operation)
    if package is None:
        raise error
    return f"the package {package} cannot judge {operation}: its code raised {describe(error)}"
