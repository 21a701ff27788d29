"""The weights with which a model starts."""
