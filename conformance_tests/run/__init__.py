"""A run: which laws are tried on what, in which order, by whom, and what is kept of it."""
