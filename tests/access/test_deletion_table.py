"""docs/deletion.md has a row for everything that one object says of another."""

import re
from pathlib import Path

from django.apps import apps
from django.db import models

from groups.models import Group, GroupResource
from meshmgmt.access.models import Invite, PolicyRule, SetupKey
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.inventory.models import NetworkResource, Peer

DOCUMENT = Path("docs/deletion.md")
ROW = re.compile(r"^\| ([a-z ]+) \| `(\w+\.\w+)` \| .+ \|$", re.MULTILINE)

Model = type[models.Model]
Pair = tuple[str, str]

# Columns that keep ids without a foreign key, and whose ids they are.
BY_ID: dict[tuple[Model, str], tuple[Model, ...]] = {
    (PolicyRule, "source_resource_id"): (Peer, NetworkResource),
    (PolicyRule, "destination_resource_id"): (Peer, NetworkResource),
    (GroupResource, "resource_id"): (Peer, NetworkResource),
    (AccessTest, "source_ref"): (Peer, Group, User),
    (AccessTest, "destination_ref"): (Peer, Group, NetworkResource),
    (Account, "network_traffic_logs_groups"): (Group,),
    (Account, "peer_expose_groups"): (Group,),
    (Account, "ipv6_enabled_groups"): (Group,),
    (Account, "created_by"): (User,),
    (AccessToken, "created_by"): (User,),
    (Invite, "created_by"): (User,),
    (Invite, "accepted_by"): (User,),
    (Peer, "setup_key_id"): (SetupKey,),
}
NO_IDS = {
    ("Account", "jwt_allow_groups"): "names in claims",
    ("Route", "network_id"): "a name that the client gives",
    ("Peer", "geoname_id"): "a number of GeoNames",
}
OURS = {"accounts", "inventory", "groups", "access", "dns", "accesstests"}


def our_models() -> list[Model]:
    return [model for model in apps.get_models() if model._meta.app_label in OURS]


def kind(model: Model) -> str:
    return str(model._meta.verbose_name)


def named_in(model: Model, column: str) -> str:
    """Return the owner's list for an entry of a list, else model and column."""
    if issubclass(model, OrderedLink):
        owner = model._meta.get_field(model.owner_field).related_model
        assert isinstance(owner, type)
        return f"{owner.__name__}.{model.relation}"
    return f"{model.__name__}.{column}"


def foreign_keys() -> set[Pair]:
    found = set()
    for model in our_models():
        for column in model._meta.concrete_fields:
            is_owner = column.name == getattr(model, "owner_field", "")
            if not isinstance(column, models.ForeignKey) or is_owner:
                continue
            assert isinstance(column.related_model, type)
            pair = kind(column.related_model), named_in(model, column.name)
            found.add(pair)
    return found


def kept_ids() -> set[Pair]:
    return {
        (kind(target), named_in(model, column))
        for (model, column), targets in BY_ID.items()
        for target in targets
    }


def test_every_pair_of_deleted_and_referring_has_a_row():
    rows = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))

    assert len(foreign_keys()) > 20
    assert len(rows) == len(set(rows))
    assert set(rows) == foreign_keys() | kept_ids()


def test_every_column_that_could_keep_ids_is_known():
    looks_like_ids = re.compile(r".+(_id|_ids|_by|_groups|_peers|_resources)")
    unknown = {
        (model.__name__, column.name)
        for model in our_models()
        for column in model._meta.concrete_fields
        if looks_like_ids.fullmatch(column.name)
        and not isinstance(column, models.ForeignKey)
        and (model, column.name) not in BY_ID
    }

    assert unknown == set(NO_IDS)
