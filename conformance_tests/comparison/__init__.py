"""Where two implementations part, and which of them the laws side with."""
