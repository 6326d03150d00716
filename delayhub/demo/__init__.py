"""``make demo`` and ``make up``: a whole site on this machine, with sample biz types and a receiver of callbacks."""
