"""API keys in the admin: issued here, shown once, rotated, limited and revoked."""
