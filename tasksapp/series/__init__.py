"""Series: jobs that repeat."""
