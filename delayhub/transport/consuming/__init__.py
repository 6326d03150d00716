"""What a channel claims, keeps until it can be handed over, and holds until it is acknowledged."""
