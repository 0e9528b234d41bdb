"""Reads the account from the database as the snapshot that maps are computed from."""

from meshmgmt.control.loading.snapshot import Touched, load

__all__ = ["Touched", "load"]
