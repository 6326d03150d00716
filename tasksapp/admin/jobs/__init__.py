"""Jobs in the admin: the list, the page of one job, and what a person can do to a few of them."""
