"""Reads the account from the database as the snapshot that everything is computed from."""

from meshmgmt.meshstate.loading import (
    Touched,
    are_named,
    groups_of,
    load,
    load_among,
    load_around,
    load_met,
    load_sides,
    mesh_of,
    routes_something,
)

__all__ = [
    "Touched",
    "are_named",
    "groups_of",
    "load",
    "load_among",
    "load_around",
    "load_met",
    "load_sides",
    "mesh_of",
    "routes_something",
]
