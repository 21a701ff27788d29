"""Whole Transformers, and decoding with a cache."""
