"""What keeps rows and timers in step, run by one worker at a time."""
