"""The comparison of two models, repeated where one pass does not show what differs."""
