"""What keeps rows and timers in step; one worker at a time does it."""
