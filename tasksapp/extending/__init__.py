"""The points at which abilities take part in what the core does. The core names no ability; abilities add themselves.

Each point is a file with its contract. An app adds what it brings by dotted names, in ``AppConfig.ready()``::

    from tasksapp.extending.claim_rules import wait_rules

    class ShopConfig(AppConfig):
        name = "shop"

        def ready(self) -> None:
            wait_rules.add("shop.rules.WAITS_FOR_STOCK")

The names are imported when the core first needs them, so that a process that claims nothing does not load them.
"""
