"""One-line mistakes on the way from a job's creation to its callback; SQLite's side where the two databases differ."""
