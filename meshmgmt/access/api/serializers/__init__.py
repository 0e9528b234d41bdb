"""Bodies of this room's endpoints: JSON types only, rules are in `access.rules`."""
