"""Laws of the gradients of attention."""
