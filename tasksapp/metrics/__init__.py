"""Numbers of the whole site for Prometheus: right in whichever process answers."""
