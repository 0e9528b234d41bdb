"""Answers about what peers get, over HTTP."""
