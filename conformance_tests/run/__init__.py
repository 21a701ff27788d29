"""A run: which laws are tried, in which order, by which processes, and what is kept of the results."""
