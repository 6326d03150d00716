"""Numbers over REST."""
