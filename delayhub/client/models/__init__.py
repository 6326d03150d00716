"""What the API answers with, as frozen dataclasses. A test compares them with the site's OpenAPI document."""
