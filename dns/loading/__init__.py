"""Reads the account from the database as the snapshot that the pure modules work on."""

from dns.loading.snapshot import account_snapshot, peer_snapshot

__all__ = ["account_snapshot", "peer_snapshot"]
