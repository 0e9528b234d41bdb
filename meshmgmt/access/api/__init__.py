"""HTTP API of what refers to groups."""
