"""What the whole system is made of and how it is: a section for each part, as values for a page and for JSON."""
