"""Laws of every operation."""
