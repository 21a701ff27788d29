"""The gradients of grouped-query attention."""
