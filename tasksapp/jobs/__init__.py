"""Jobs: created, changed and ended by verbs."""
