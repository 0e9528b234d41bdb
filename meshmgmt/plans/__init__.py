"""What a write would do before it is made."""
