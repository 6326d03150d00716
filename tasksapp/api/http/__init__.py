"""What all views of the API share: who calls, JSON, pages, problems, OpenAPI."""
