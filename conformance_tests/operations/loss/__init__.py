"""The cross-entropy."""
