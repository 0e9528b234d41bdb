"""Endpoints of subscriptions."""
