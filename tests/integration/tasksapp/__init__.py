"""Tasksapp."""
