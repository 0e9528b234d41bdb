"""Database backends that measure."""
