"""How a report is shown: on a console, as JSON, and as a script that repeats a violation."""
