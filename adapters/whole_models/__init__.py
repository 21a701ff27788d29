"""A whole model as implementations of operations: itself, and perhaps its parts, so that their laws can be tried."""
