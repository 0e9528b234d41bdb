"""A resource that no room has: `cases.py` holds what a new field costs.

`tests/api/test_declarations.py` runs it in a process of its own, which alone has its table.
"""
