"""Reads of what refers to groups; few queries, whatever the size of the data."""
