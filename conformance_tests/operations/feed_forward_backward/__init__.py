"""The gradients of feed-forward networks."""
