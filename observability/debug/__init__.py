"""Bundles and debug runs."""
