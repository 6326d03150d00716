"""Clients of the REST API, for programs without Django."""
