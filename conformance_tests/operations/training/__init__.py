"""Training: steps of AdamW on the loss of next tokens."""
