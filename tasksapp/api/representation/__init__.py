"""How jobs, attempts and biz types look from outside."""
