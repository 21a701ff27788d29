"""What is drawn: descriptions of cases, and the arrays they stand for."""
