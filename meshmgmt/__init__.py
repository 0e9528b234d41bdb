"""Management plane of a mesh VPN."""

__version__ = "0.1.0"
