"""The formula with its decisions, for the cross-entropy."""
