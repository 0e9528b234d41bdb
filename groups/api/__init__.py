"""HTTP API of groups."""
