"""What the peer protocol has for the other rooms; it follows every write."""

from meshmgmt.control import audit, changes, homecards
from meshmgmt.control.server import figures
from meshmgmt.control.services import jobs, presence
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.inventory.contributions import contributions


def register() -> None:
    audit.register()
    changes.register()
    figures.register()
    homecards.register()
    modelmodules.assign("services", "control.proxytoken")
    modelmodules.assign("remote_jobs", "control.peerjob")
    contributions.reachable_since = presence.reachable_since
    register_job("forget_map_changes", changes.EVERY_SECONDS, changes.forget_old)
    register_job(
        "forget_lost_streams", presence.BEAT_SECONDS, presence.forget_lost_processes
    )
    register_job("look_after_peer_jobs", jobs.EVERY_SECONDS, jobs.look_after_jobs)
    register_job(
        "remove_ephemeral_peers",
        presence.EPHEMERAL_SECONDS,
        presence.remove_ephemeral_peers,
    )
