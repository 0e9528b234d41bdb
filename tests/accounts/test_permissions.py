"""The role table against the matrix written by hand, in the API and the admin site."""

import itertools

import pytest
from django.apps import apps
from django.contrib import admin

from meshmgmt.accounts.models import User
from meshmgmt.core import modelmodules
from meshmgmt.core.roles import (
    MODULES,
    PERMISSIONS,
    Operation,
    Role,
    allowed,
    permissions_of,
)
from meshmgmt.env import BASE_DIR
from tests.accounts.permission_matrix import EXPECTED, ROLES

LETTERS = {
    "C": Operation.CREATE,
    "R": Operation.READ,
    "U": Operation.UPDATE,
    "D": Operation.DELETE,
}
ADMIN_ACTIONS = {"add": "C", "view": "R", "change": "U", "delete": "D"}
CASES = [
    (role, module, letters)
    for module, row in EXPECTED.items()
    for role, letters in zip(ROLES, row, strict=True)
]


def test_the_matrix_is_complete():
    assert list(EXPECTED) == list(MODULES)
    assert list(ROLES) == [role.value for role in Role]
    assert set(PERMISSIONS) == set(itertools.product(ROLES, EXPECTED))


@pytest.mark.parametrize(("role", "module", "letters"), CASES)
def test_a_role_may_do_what_the_matrix_says(role: str, module: str, letters: str):
    expected = {op for letter, op in LETTERS.items() if letter in letters}
    assert {op for op in Operation if allowed(role, module, op)} == expected
    shown = permissions_of(role)[module]
    assert {op for op in Operation if shown[op.value]} == expected


def test_unknown_roles_and_modules_may_nothing():
    assert not any(
        allowed("king", module, op) for module in MODULES for op in Operation
    )
    assert not any(allowed("owner", "moon", op) for op in Operation)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("model", "module"),
    [("user", "users"), ("accesstoken", "pats"), ("account", "accounts")],
)
def test_the_admin_site_follows_the_matrix(role: str, model: str, module: str):
    user = User(role=role)
    letters = EXPECTED[module][ROLES.index(role)]
    for action, letter in ADMIN_ACTIONS.items():
        assert user.has_perm(f"accounts.{action}_{model}") is (letter in letters)


def test_nobody_has_permissions_on_unassigned_models_or_odd_actions():
    owner = User(role="owner")
    assert not owner.has_perm("auth.view_group")
    assert not owner.has_perm("accounts.fly_user")
    assert not owner.has_perm("accounts")
    assert owner.has_perms(["accounts.view_user", "accounts.add_user"])
    assert not owner.has_perms(["accounts.view_user", "auth.add_group"])


@pytest.mark.parametrize("role", ROLES)
def test_the_blocked_and_the_pending_have_no_permissions(role: str):
    for facts in ({"is_blocked": True}, {"pending_approval": True}):
        user = User(role=role, **facts)
        assert not user.has_perm("accounts.view_user")
        assert not user.is_active
        assert not user.is_staff
        assert not user.is_superuser


def test_who_may_enter_the_admin_site():
    staff = {role for role in ROLES if User(role=role).is_staff}
    assert staff == {"owner", "admin", "network_admin", "auditor"}
    assert not User(role="admin", is_service_user=True).is_staff
    assert {role for role in ROLES if User(role=role).is_superuser} == {"owner"}


def test_models_are_assigned_to_modules_that_exist():
    with pytest.raises(ValueError, match="moon"):
        modelmodules.assign("moon", "accounts.user")
    for module in modelmodules._modules.values():
        assert module in MODULES
    for label in modelmodules._modules:
        app_label, _, model = label.partition(".")
        assert app_label in apps.app_configs
        assert not model or model in apps.all_models[app_label]


def test_every_model_of_ours_on_the_admin_site_has_a_module():
    """Else nobody could see it."""
    ours = [
        model
        for model in admin.site._registry
        if not model.__module__.startswith("django.")
    ]
    missing = [
        model.__name__
        for model in ours
        if modelmodules.module_of(model._meta.app_label, model._meta.model_name or "")
        is None
    ]
    assert missing == []


def test_the_documentation_shows_the_matrix():
    page = (BASE_DIR / "docs" / "authentication.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| ")
    ]
    shown = {row[0]: tuple(row[1:]) for row in rows if row[0] in EXPECTED}
    assert shown == EXPECTED
