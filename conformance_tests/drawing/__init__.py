"""What drawing cases needs, whatever the operation: choices, values, limits, rarities, regions."""
