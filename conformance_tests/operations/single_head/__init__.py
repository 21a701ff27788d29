"""Attention with one head's projections."""
