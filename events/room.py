"""What events have for the other rooms; the trail follows their models by signals."""

from events.admin import homecards
from events.admin.foresight import Foresight
from events.audit import checks, retention, signals
from events.audit.histories import history_key
from events.audit.reading import newest
from events.models.audit import HistoryKeyField
from events.proof import heads, published
from events.streams import citus, partitions, rollups
from events.streams import retention as streams
from meshmgmt.adminsite import trail
from meshmgmt.api import versions
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import HOUR, register_job
from observability.registries import register_readiness_check


def register() -> None:
    HistoryKeyField.key_of = staticmethod(history_key)
    checks.register()
    signals.register()
    homecards.register()
    trail.register(Foresight())
    register_job("events.partitions", HOUR, partitions.make_ahead)
    register_job("events.retention", HOUR, streams.prune)
    register_job("events.roll_ups", rollups.EVERY_SECONDS, rollups.roll_up)
    register_job("events.proof", heads.EVERY_SECONDS, heads.keep_up)
    register_job("events.heads", heads.EVERY_SECONDS, published.publish)
    register_job("events.audit_retention", HOUR, retention.prune)
    # Not required: what is no event is answered, and no other host could do better.
    register_readiness_check("streams", citus.absence, required=False)
    modelmodules.assign("events", "events")
    versions.register_state(newest)
