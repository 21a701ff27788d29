"""The gradients of attention between projections: of one head, and of several."""
