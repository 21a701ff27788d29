"""The gradients of what attention adds to its logits: a learned bias, and sinks."""
