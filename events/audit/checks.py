"""System checks that keep the audit trail without gaps."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core import checks
from django.db import models

from events.audit.audited import AuditedModel
from events.audit.specs import spec_of

_SILENT = (models.SET_NULL, models.SET_DEFAULT, models.DO_NOTHING)


def register() -> None:
    for check in (no_silent_changes, every_audited_model_has_a_spec):
        checks.register(check, checks.Tags.models)


def no_silent_changes(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Refuse foreign keys of audited models that Django would change without a signal."""
    return [
        checks.Error(
            f"{model.__name__}.{column.name} would change without an audit event",
            hint="Unlink the objects in a service and use PROTECT or CASCADE.",
            obj=model,
            id="events.E001",
        )
        for model in apps.get_models()
        if issubclass(model, AuditedModel)
        for column in model._meta.concrete_fields
        if isinstance(column, models.ForeignKey)
        and column.remote_field.on_delete in _SILENT
    ]


def every_audited_model_has_a_spec(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Refuse audited models that nobody registered."""
    return [
        checks.Error(
            f"{model.__name__} is audited but has no AuditSpec",
            obj=model,
            id="events.E002",
        )
        for model in apps.get_models()
        if issubclass(model, AuditedModel) and spec_of(model) is None
    ]
