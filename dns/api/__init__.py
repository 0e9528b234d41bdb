"""HTTP API of DNS."""
