"""Rarities of the gradients of activations."""

from __future__ import annotations

from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors

ENTRIES = gradients_of_vectors(("grad_x",), f"{OF_VECTORS} large huge far_below hundred", most=2049)
