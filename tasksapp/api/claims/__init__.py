"""Claims of pulled jobs over REST."""
