"""Pages of metrics, checks and log levels in the admin site."""
