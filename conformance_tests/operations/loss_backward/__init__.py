"""The gradient of the cross-entropy."""
