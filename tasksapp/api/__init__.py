"""REST: jobs and biz types over HTTP. Every error is a problem document (RFC 9457)."""
