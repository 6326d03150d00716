"""The statements of the hot paths: one file each, PostgreSQL and SQLite under the same tests."""
