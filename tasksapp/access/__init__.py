"""Who may call the API, and with which key."""
