"""What every operation owes its caller, and what several topics share."""
