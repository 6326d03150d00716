"""What a biz type means: its checks, limits, gate, breaker and target."""
