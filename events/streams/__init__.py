"""The two big event streams: checking, storing, reading and dropping their rows.

`decoding`, `traffic` and `proxy` are pure; the others talk to the
database, or lead to what does.
"""
