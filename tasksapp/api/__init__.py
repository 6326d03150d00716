"""REST: jobs and biz types over HTTP, every error a problem document (RFC 9457)."""
