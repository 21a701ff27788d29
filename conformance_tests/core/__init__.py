"""The central records: an operation under test, a law, one trial of it, its verdict and its result."""
