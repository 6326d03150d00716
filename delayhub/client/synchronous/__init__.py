"""The synchronous client, which ``make client`` makes from ``asynchronous``: change that one."""
