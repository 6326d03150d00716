"""Traces, for projects that use OpenTelemetry. Nothing of it is imported elsewhere."""
