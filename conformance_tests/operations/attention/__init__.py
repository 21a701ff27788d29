"""Scaled dot-product attention, grouped or not, and its weights."""
