"""Laws of scaled dot-product attention, grouped or not, and its weights."""
