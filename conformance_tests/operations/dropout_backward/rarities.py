"""Rarities of the gradient of dropout."""

from __future__ import annotations

from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors

GRADIENTS = gradients_of_vectors(("grad_x",), f"{OF_VECTORS} large hundred", most=1025)
