"""Linear biases and relative position buckets."""
