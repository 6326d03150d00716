"""The asynchronous client. ``delayhub/client/synchronous`` is made from this folder by ``make client``."""
