"""Feed-forward networks, plain and gated."""
