"""What events have for the other rooms; the trail follows their models by signals.

System checks keep the trail without gaps.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from django.apps import AppConfig, apps
from django.core import checks
from django.db import models

from events.admin import homecards
from events.admin.foresight import Foresight
from events.audit import audited, retention
from events.audit.audited import AuditedModel
from events.audit.emission import newest
from events.audit.specs import history_key, spec_of
from events.models.audit import history_keys
from events.proof import heads, published
from events.streams import citus, partitions, rollups
from events.streams import retention as streams
from events.streams.subjects import ROLL_UPS
from meshmgmt.adminsite import trail
from meshmgmt.api import versions
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import HOUR, register_job
from observability.registries import register_readiness_check

_SILENT: Final = (models.SET_NULL, models.SET_DEFAULT, models.DO_NOTHING)


def register() -> None:
    history_keys.add("events", history_key)
    for check in (no_silent_changes, every_audited_model_has_a_spec):
        checks.register(check, checks.Tags.models)
    audited.register()
    homecards.register()
    trail.trails.add("events", Foresight())
    register_job("events.partitions", HOUR, partitions.make_ahead)
    register_job("events.retention", HOUR, streams.prune)
    for name, kept in ROLL_UPS.items():  # one that fails keeps no other from its sums
        summing = partial(rollups.roll_up, [kept])
        register_job(f"events.roll_ups.{name}", rollups.EVERY_SECONDS, summing)
    register_job("events.proof", heads.EVERY_SECONDS, heads.keep_up)
    register_job("events.heads", heads.EVERY_SECONDS, published.publish)
    register_job("events.audit_retention", HOUR, retention.prune)
    # Not required: what is no event is answered, and no other host could do better.
    register_readiness_check("streams", citus.absence, required=False)
    modelmodules.assign("events", "events")
    versions.states.add("events", newest)


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
