"""The formula with its decisions, for encoder and decoder layers."""
