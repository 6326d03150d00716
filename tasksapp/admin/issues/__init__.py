"""Issues in the admin: dead jobs that failed alike."""
