"""Reads the account from the database as the snapshot that everything is computed from."""
