"""Biz types: their validation, verbs and cache, and what follows from them: target, gate, breaker and insert limit."""
