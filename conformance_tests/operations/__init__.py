"""The operations by topic: cases, inputs, bounds, laws, variants, regions and rarities of each lie together."""
