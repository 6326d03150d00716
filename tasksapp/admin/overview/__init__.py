"""The overview: how jobs fare at this moment, what comes, what failed, and what people did."""
