"""Template tags of what writes did."""
