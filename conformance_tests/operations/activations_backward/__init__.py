"""The gradients of GELU and SiLU."""
