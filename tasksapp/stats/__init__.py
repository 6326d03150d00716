"""Numbers about jobs, the same for the admin, the API and metrics."""
