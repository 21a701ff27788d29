"""GELU and SiLU."""
