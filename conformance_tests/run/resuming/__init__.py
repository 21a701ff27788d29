"""What of a run is kept in a file, so that it can be ended at any moment and go on where it was."""
