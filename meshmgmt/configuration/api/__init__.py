"""The HTTP API of this room."""
