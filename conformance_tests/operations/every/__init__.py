"""The laws of every operation, and the shared parts of several topics."""
