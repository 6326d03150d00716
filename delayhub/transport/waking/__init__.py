"""What wakes a worker's event loop: Redis' bell, a nudge by another thread, an alarm at a moment."""
