"""Conditions on the arguments of every operation, written without a look at how the suite draws its cases."""
