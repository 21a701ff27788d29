"""The loss of next tokens."""
