"""What runs around Django: gunicorn, housekeeping, the metrics listener."""
