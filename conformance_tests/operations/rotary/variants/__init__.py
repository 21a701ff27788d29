"""The formula with its decisions, for rotary embeddings."""
