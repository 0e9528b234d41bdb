"""Template tags of DNS."""
