"""Pulling: jobs that pullers claim over HTTP, in place of a worker that sends callbacks."""
