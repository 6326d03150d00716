"""Faults that happen to a queue of tasks, and what became of the tasks: the table of docs/explanation/faults.md."""
