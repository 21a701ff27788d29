"""The gradient of rotary embeddings."""
