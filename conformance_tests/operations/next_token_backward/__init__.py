"""The gradient of the loss of next tokens."""
