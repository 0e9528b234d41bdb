"""What rooms above know about users and settings; they set it in their `room.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from meshmgmt.core.fielderrors import FieldError

if TYPE_CHECKING:
    from django.db.models import Field


@dataclass(slots=True)
class Contributions:
    """Answers of other rooms; each as it is while no room gives one.

    `auto_groups` gives `{user id: [group id, ...]}`, in the users' order, of the given
    users or of all (None); users without groups may be absent. `auto_group_errors` judges
    ids, `set_auto_groups` stores those that are right, `set_jwt_groups` those with the
    names that claims give, beside those of people. `auto_group_column` is the foreign key
    to the groups that forms offer. `unknown_groups` returns those of the ids that no group
    has, and `dns_domain_errors` objects to a domain in canonical form.
    """

    auto_groups: Callable[[Sequence[str] | None], Mapping[str, Sequence[str]]] = (
        lambda user_ids: {}
    )
    auto_group_errors: Callable[[Sequence[str]], list[FieldError]] = lambda ids: []
    set_auto_groups: Callable[[Any, Sequence[str]], None] = lambda user, ids: None
    set_jwt_groups: Callable[[Any, Sequence[str]], None] = lambda user, names: None
    auto_group_column: "Field[Any, Any] | None" = None
    unknown_groups: Callable[[Sequence[str]], Sequence[str]] = lambda ids: ()
    dns_domain_errors: Callable[[str], list[FieldError]] = lambda domain: []


contributions: Final = Contributions()
