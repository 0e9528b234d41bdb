"""HTTP API of the inventory."""
