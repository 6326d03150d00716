"""The audit over REST."""
