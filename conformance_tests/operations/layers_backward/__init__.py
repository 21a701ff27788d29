"""The gradients of encoder and decoder layers."""
