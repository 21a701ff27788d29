"""The formula with its decisions, for multi-head attention."""
