"""What a change would do before it is made; above all rooms."""
