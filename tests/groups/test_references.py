"""Nothing refers to groups unless the registry knows of it."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from groups.models import Group, GroupLink
from groups.references import REFERENCES, ListReference, register
from meshmgmt.core.resources import lists

NOT_GROUP_IDS = {
    ("accounts.account", "jwt_allow_groups"): "names of claims, not ids",
    ("accounts.account", "jwt_groups_claim_name"): "name of a claim",
}
"""Columns that look like lists of groups and are none."""
KNOWN = {*REFERENCES, *((link, link.owner_field) for link in lists(Group).values())}


def relations_to_group() -> list[tuple[type[models.Model], str]]:
    """Return every (model, field) with a relation to Group."""
    return [
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if not field.auto_created and field.related_model is Group
    ]


def columns_named_after_groups() -> list[tuple[type[models.Model], str]]:
    """Return the JSON and text columns whose name speaks of groups."""
    return [
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.JSONField | models.CharField | models.TextField)
        and ("_group" in field.name or field.name.startswith("group"))
    ]


def each(columns: list[tuple[type[models.Model], str]]) -> pytest.MarkDecorator:
    """Return what repeats a test for each column."""
    return pytest.mark.parametrize(
        ("model", "field"),
        columns,
        ids=lambda part: part if isinstance(part, str) else part._meta.label,
    )


def test_there_are_relations_to_look_at():
    assert len(relations_to_group()) >= 12
    assert len(columns_named_after_groups()) >= 4


@each(relations_to_group())
def test_every_relation_to_groups_is_registered(model: type[models.Model], field: str):
    assert (model, field) in KNOWN


@each(columns_named_after_groups())
def test_every_column_of_group_ids_is_registered_or_explained(
    model: type[models.Model], field: str
):
    place = (model._meta.label_lower, field)
    if place[0].startswith(("auth.", "admin.", "sessions.", "contenttypes.")):
        return
    assert (model, field) in KNOWN or place in NOT_GROUP_IDS


@each(relations_to_group())
def test_the_database_refuses_to_lose_a_group_that_is_referred_to(
    model: type[models.Model], field: str
):
    relation = model._meta.get_field(field)

    assert isinstance(relation, models.ForeignKey)
    assert relation.remote_field.on_delete is models.PROTECT


def test_a_reference_cannot_be_registered_twice():
    link = next(
        model for model, _ in relations_to_group() if issubclass(model, GroupLink)
    )

    with pytest.raises(ValueError, match="registered already"):
        register(ListReference(model=link, kind="again"))


def test_every_kind_of_reference_is_documented():
    text = Path("docs/groups.md").read_text(encoding="utf-8")
    table = text.partition("## Deleting a group")[2].partition("## ")[0]
    for reference in REFERENCES.values():
        assert f"`{reference.kind}`" in table
