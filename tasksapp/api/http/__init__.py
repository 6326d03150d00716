"""What all views of the API share: authentication, JSON, pages, problem documents and OpenAPI."""
