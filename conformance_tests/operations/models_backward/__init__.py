"""The gradients of whole Transformers by all their weights."""
