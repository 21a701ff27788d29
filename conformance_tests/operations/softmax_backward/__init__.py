"""The gradients of softmax."""
