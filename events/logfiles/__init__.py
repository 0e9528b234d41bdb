"""Logs of reverse proxies, for `manage.py ingest`: read, parsed, taken in."""
