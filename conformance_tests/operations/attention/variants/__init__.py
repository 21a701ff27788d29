"""The formula with its decisions, for scaled dot-product attention, grouped or not, and its weights."""
