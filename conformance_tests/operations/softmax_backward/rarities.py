"""Rarities of the gradient of softmax."""

from __future__ import annotations

from veriformer.conformance_tests.operations.every.rarities import OF_VECTORS, gradients_of_vectors

SOFTMAX_BACKWARD = gradients_of_vectors(("grad_x",), f"{OF_VECTORS} large huge far_below hundred ties", most=33000)
