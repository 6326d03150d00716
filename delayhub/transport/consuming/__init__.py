"""What a channel claims, keeps until it is handed over, and holds until it is acknowledged."""
