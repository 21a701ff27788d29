"""Which conventions an operation obeys: one question after the other, and what is left unknown."""
