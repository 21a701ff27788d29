"""The formula with its decisions, for whole Transformers, and decoding with a cache."""
