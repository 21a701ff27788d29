"""The parts of drawing cases that all operations share: choices, values, limits, rarities, regions."""
