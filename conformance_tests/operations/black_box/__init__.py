"""A model as a black box."""
