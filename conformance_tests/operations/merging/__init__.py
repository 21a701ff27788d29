"""Merging the attention over parts of the keys."""
