"""A server of the Model Context Protocol, by which agents use a site as far as an API key lets them."""
