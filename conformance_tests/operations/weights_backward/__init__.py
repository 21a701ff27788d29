"""The gradients of attention's weights."""
