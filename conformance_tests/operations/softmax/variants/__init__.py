"""The formula with its decisions, for softmax."""
