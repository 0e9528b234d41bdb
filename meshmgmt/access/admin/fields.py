"""What the pages of access objects share: lists of groups, peers, pages to read."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.db import models

from groups.models import GroupLink
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.lists import ListAdmin
from meshmgmt.adminsite.pages import refused


def groups_field(link: type[GroupLink], **kwargs: Any) -> OrderedListField:
    """Return a field for a list of groups kept in `link`."""
    return OrderedListField(link._meta.get_field("group"), **kwargs)


class KeyField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not at run time
    """One object found by typing, given and returned as key; "" for none."""

    def __init__(self, column: "models.Field[Any, Any]", **kwargs: Any) -> None:
        assert isinstance(column, models.ForeignKey)
        super().__init__(
            queryset=column.remote_field.model._default_manager.all(),
            widget=AutocompleteSelect(column, admin.site),
            required=False,
            **kwargs,
        )

    def clean(self, value: Any) -> Any:
        """Return the key; whether the object exists is left to the service."""
        return str(value or "")


class ReadOnlyAdmin(ListAdmin):
    """Pages to look at objects that are written elsewhere."""

    ordering = ["id"]

    has_add_permission = has_change_permission = has_delete_permission = refused
