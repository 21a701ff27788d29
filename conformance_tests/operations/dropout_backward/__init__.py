"""The gradient of dropout."""
