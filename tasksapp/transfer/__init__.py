"""Transfer: all that a tenant has, as lines of JSON that another site takes in: to move it, or to keep it."""
