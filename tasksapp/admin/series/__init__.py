"""Series in the admin."""
