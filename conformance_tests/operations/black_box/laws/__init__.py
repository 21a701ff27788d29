"""Laws of a model of unknown formula."""
