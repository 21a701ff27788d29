"""Laws of encoder and decoder layers."""
