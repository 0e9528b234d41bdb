"""Decisions about peers: synchronous, called by the server in its pool of threads."""
