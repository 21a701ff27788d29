"""The gradients of merged attention."""
