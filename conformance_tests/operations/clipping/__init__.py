"""Clipping of gradients by the norm of all of them."""
