"""What wakes a worker's event loop: Redis' bell, another thread's nudge, an alarm at a moment."""
