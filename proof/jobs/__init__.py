"""Histories of jobs with rows: from their creation to the callback, with crashes between any two statements."""
