"""Probes, the relay, and the status of a server."""
