"""Causal and padding masks."""
