"""The families of the gradients of whole Transformers."""
