"""The gradient of the table of token embeddings."""
