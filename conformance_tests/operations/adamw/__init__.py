"""One step of the optimizer AdamW."""
