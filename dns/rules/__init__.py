"""Ordered checks of what may be stored; pure, without Django.

Each function returns every broken rule, the one that decides the answer's
message first. Facts that need the database come in as arguments.
"""
