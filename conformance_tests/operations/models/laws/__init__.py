"""Laws of whole Transformers, and decoding with a cache."""
