"""What goes past Django's cursor, each with a decision record."""
