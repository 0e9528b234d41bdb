"""Every write to DNS objects: HTTP, admin site and commands call these."""
