"""Diagnosis: which known mistake an operation makes that breaks laws."""
