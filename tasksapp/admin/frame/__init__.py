"""What all pages of the admin stand on: their frame, pieces of HTML, charts, links, and rules of lists and forms."""
