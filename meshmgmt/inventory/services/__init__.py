"""Every write of the inventory."""
