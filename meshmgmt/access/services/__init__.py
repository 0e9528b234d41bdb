"""Every write to what refers to groups: HTTP, admin site and commands call these."""
