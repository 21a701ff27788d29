"""The formula with its decisions, for linear biases and relative position buckets."""
