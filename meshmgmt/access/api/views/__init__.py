"""Endpoints of this room, by resource."""
