"""The audit in the admin: the list of who did what, and the pages behind History."""
