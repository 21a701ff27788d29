"""Which functions of a file, as people write them, are which operations, and how they are called."""
