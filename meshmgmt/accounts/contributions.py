"""What rooms above know about users and settings; they set it in their `room.py`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from meshmgmt.core.errors import FieldError

if TYPE_CHECKING:
    from django.db.models import Field


class Contributions:
    """What one room above answers each."""

    auto_groups: Callable[[Sequence[str] | None], Mapping[str, Sequence[str]]]
    """Ids of groups in their order, by the id of the user: of some users, None of all.

    Users without groups may be absent.
    """
    auto_group_errors: Callable[[Sequence[str]], list[FieldError]]
    """What is wrong with ids that shall be the auto-groups of a user."""
    set_auto_groups: Callable[[Any, Sequence[str]], None]
    """Stores ids that are right for a user."""
    set_jwt_groups: Callable[[Any, Sequence[str]], None]
    """Stores groups with the names that claims give, beside those of people."""
    auto_group_column: "Field[Any, Any]"
    """The foreign key to the groups that forms offer."""
    unknown_groups: Callable[[Sequence[str]], Sequence[str]]
    """Those of the ids that no group has."""
    dns_domain_errors: Callable[[str], list[FieldError]]
    """What speaks against a domain in canonical form."""


contributions: Final = Contributions()
