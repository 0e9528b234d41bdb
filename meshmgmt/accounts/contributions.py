"""What one room above knows about users and settings, and registers in its `room.py`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.registry import Registry

auto_groups: Final = Registry[
    str, Callable[[Sequence[str] | None], Mapping[str, Sequence[str]]]
]()
"""Ids of groups in their order, by the id of the user: of some users, None of all.

Users without groups may be absent.
"""
auto_group_errors: Final = Registry[str, Callable[[Sequence[str]], list[FieldError]]]()
"""What is wrong with ids that shall be the auto-groups of a user."""
set_auto_groups: Final = Registry[str, Callable[[Any, Sequence[str]], None]]()
"""Stores ids that are right for a user."""
set_jwt_groups: Final = Registry[str, Callable[[Any, Sequence[str]], None]]()
"""Stores groups with the names that claims give, beside those of people."""
auto_group_column: Final = Registry[str, Any]()
"""The foreign key to the groups that forms offer."""
unknown_groups: Final = Registry[str, Callable[[Sequence[str]], Sequence[str]]]()
"""Those of the ids that no group has."""
dns_domain_errors: Final = Registry[str, Callable[[str], list[FieldError]]]()
"""What speaks against a domain in canonical form."""
