"""From an empty database to the first owner."""
