"""What rooms above know or must do about users and settings; set in their `ready()`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meshmgmt.core.fielderrors import FieldError

if TYPE_CHECKING:
    from django.db.models import Field

AutoGroups = Callable[[Sequence[str] | None], Mapping[str, Sequence[str]]]


Farewell = Callable[[Any], None]
GroupRules = Callable[[Sequence[str]], list[FieldError]]
GroupWrite = Callable[[Any, Sequence[str]], None]
DomainCheck = Callable[[str], list[FieldError]]
GroupCheck = Callable[[Sequence[str]], Sequence[str]]


class _Sources:
    set_jwt_groups: GroupWrite | None = None
    auto_groups: AutoGroups | None = None
    auto_group_errors: GroupRules | None = None
    set_auto_groups: GroupWrite | None = None
    unknown_groups: GroupCheck | None = None


_group_columns: "list[Field[Any, Any]]" = []
_farewells: list[Farewell] = []
_blocked: list[Farewell] = []
_domain_checks: list[DomainCheck] = []


def register_auto_groups(source: AutoGroups) -> None:
    """Set the function that returns `{user id: [group id, ...]}`, in the users' order.

    It is asked for the given users, None for all; users without groups may be absent.
    """
    _Sources.auto_groups = source


def auto_groups(user_ids: Sequence[str] | None = None) -> Mapping[str, Sequence[str]]:
    """Return the auto-groups of users (None: of all), nothing when nobody knows them."""
    return {} if _Sources.auto_groups is None else _Sources.auto_groups(user_ids)


def register_auto_group_writes(errors: GroupRules, write: GroupWrite) -> None:
    """Set what checks the auto-groups of a user, and what stores them."""
    _Sources.auto_group_errors = errors
    _Sources.set_auto_groups = write


def register_auto_group_column(column: "Field[Any, Any]") -> None:
    """Set the foreign key to the groups that forms offer as auto-groups."""
    _group_columns[:] = [column]


def auto_group_column() -> "Field[Any, Any] | None":
    """Return the foreign key to groups, None when no room keeps auto-groups."""
    return _group_columns[0] if _group_columns else None


def auto_group_errors(group_ids: Sequence[str]) -> list[FieldError]:
    """Return what is wrong with groups that shall be a user's auto-groups."""
    check = _Sources.auto_group_errors
    return [] if check is None else check(group_ids)


def set_auto_groups(user: Any, group_ids: Sequence[str]) -> None:
    """Make `group_ids`, which are right, the auto-groups of a user."""
    if _Sources.set_auto_groups is not None:
        _Sources.set_auto_groups(user, group_ids)


def register_jwt_groups(write: GroupWrite) -> None:
    """Set what keeps the auto-groups of a user as claims name them."""
    _Sources.set_jwt_groups = write


def set_jwt_groups(user: Any, names: Sequence[str]) -> None:
    """Make the groups with these names a user's auto-groups, beside those of people."""
    if _Sources.set_jwt_groups is not None:
        _Sources.set_jwt_groups(user, names)


def register_user_blocking(act: Farewell) -> None:
    """Let `act(user)` do what a room does when a user is blocked."""
    _blocked.append(act)


def after_user_blocking(user: Any) -> None:
    """Tell every room that `user` was blocked, within the write that does it."""
    for act in _blocked:
        act(user)


def register_user_deletion(farewell: Farewell) -> None:
    """Let `farewell(user)` remove what a room keeps of a user about to be deleted."""
    _farewells.append(farewell)


def before_user_deletion(user: Any) -> None:
    """Let every room take leave of `user`, within the write that deletes them."""
    for farewell in _farewells:
        farewell(user)


def register_dns_domain_check(check: DomainCheck) -> None:
    """Let `check(domain)` object to a new DNS domain of the peers."""
    _domain_checks.append(check)


def dns_domain_errors(domain: str) -> list[FieldError]:
    """Return what rooms above have against `domain` (canonical form)."""
    return [error for check in _domain_checks for error in check(domain)]


def register_group_check(check: GroupCheck) -> None:
    """Set the function that returns those of the given group ids that are unknown."""
    _Sources.unknown_groups = check


def unknown_groups(ids: Sequence[str]) -> Sequence[str]:
    """Return the group ids nobody knows; all are good while nobody can tell."""
    if not ids or _Sources.unknown_groups is None:
        return ()
    return _Sources.unknown_groups(ids)
