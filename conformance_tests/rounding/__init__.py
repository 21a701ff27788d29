"""How far a correct implementation may be from the exact result: bounds from rounding-error analysis."""
