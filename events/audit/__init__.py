"""Audit trail: written by model signals, in the transaction of the change."""
