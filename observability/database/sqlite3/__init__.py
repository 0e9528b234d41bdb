"""Backend for `ENGINE`."""
