"""Proof that the audit trail was not touched: its tree, signed heads, and their check."""
