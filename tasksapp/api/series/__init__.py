"""Series over REST."""
