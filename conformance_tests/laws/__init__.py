"""The laws as checks: each takes one trial and makes one assertion."""
