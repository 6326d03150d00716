"""Histories of concurrent verbs on one job, each of which some order has to explain."""
