"""What everything else is about: an operation under test, a law, one trial of it, its verdict and its result."""
