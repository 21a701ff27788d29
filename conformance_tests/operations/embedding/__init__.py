"""Token embeddings."""
