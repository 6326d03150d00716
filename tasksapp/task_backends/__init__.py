"""Where tasks of other frameworks become jobs."""
