"""A room of a later version, as far as its migration goes."""
