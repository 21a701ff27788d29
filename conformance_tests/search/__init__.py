"""Trying one law on drawn cases, and finding the smallest case on which it fails."""
