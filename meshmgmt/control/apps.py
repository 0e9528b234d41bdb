"""Django application of the peer protocol."""

from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "meshmgmt.control"
    label = "control"
    verbose_name = "Peer protocol"

    def ready(self) -> None:
        """Join the audit trail, the jobs and the admin's permissions."""
        from meshmgmt.control import audit, changes, homecards  # noqa: PLC0415
        from meshmgmt.control.server import figures  # noqa: PLC0415
        from meshmgmt.control.services import ephemeral, jobs, presence  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from meshmgmt.inventory.contributions import contributions  # noqa: PLC0415

        audit.register_specs()
        changes.connect()
        figures.register()
        homecards.contribute()
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
            ephemeral.EVERY_SECONDS,
            ephemeral.remove_ephemeral_peers,
        )
