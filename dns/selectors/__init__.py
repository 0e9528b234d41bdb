"""Reads of DNS objects as plain rows, in a constant number of queries."""
