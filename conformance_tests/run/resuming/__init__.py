"""The results of a run, kept in a file, so that an interrupted run can continue."""
