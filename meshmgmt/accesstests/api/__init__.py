"""Endpoints of access tests."""
