"""What the ready-made project needs to run by itself on one machine: a Redis server, processes, a demo."""
