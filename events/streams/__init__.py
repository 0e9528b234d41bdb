"""The two big event streams: checking, storing, reading and dropping their rows.

`checks`, `instants`, `search`, `traffic` and `proxy` are pure; `store`, `partitions`,
`pages`, `summaries` and `retention` talk to the database.
"""
