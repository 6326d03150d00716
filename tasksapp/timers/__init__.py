"""The Redis side of jobs: timers that can always be made again from the rows."""
