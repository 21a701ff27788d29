"""What an operation refuses: found where some calls raise and others are answered, and said in one sentence."""
