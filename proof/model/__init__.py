"""Models of the rules that nothing may break, checked by SPIN, and bound to the code: it answers as they do."""
