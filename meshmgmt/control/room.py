"""What the peer protocol has for the other rooms; it follows every write."""

from collections.abc import Iterator

from django.http import HttpRequest

from events.activities import Activity
from events.audit import specs
from events.audit.specs import AuditSpec
from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.home import Line, Place, Tone
from meshmgmt.control import changes
from meshmgmt.control.firststeps import first_steps
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.server import figures
from meshmgmt.control.services import jobs, presence
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.core.printable import counted
from meshmgmt.inventory import contributions


def register() -> None:
    changes.register()
    figures.register()
    specs.register(
        AuditSpec(
            model=ProxyToken,
            created=Activity.PERSONAL_ACCESS_TOKEN_CREATE,
            updated=Activity.PERSONAL_ACCESS_TOKEN_UPDATE,
            deleted=Activity.PERSONAL_ACCESS_TOKEN_DELETE,
            unaudited=frozenset({"last_used"}),
            secret=frozenset({"hash"}),
            meta=lambda token: {"name": token.name, "type": "proxy"},
        )
    )
    home.contribute(Place.FIRST_STEPS, "setup_keys", first_steps)
    home.contribute(Place.PEERS, "peers", _streams)
    home.contribute_ending("services", ProxyToken, EndFilter, "proxy token{s}")
    modelmodules.assign("services", "control.proxytoken")
    modelmodules.assign("remote_jobs", "control.peerjob")
    contributions.reachable_since.add("control", presence.reachable_since)
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


def _streams(request: HttpRequest) -> Iterator[Line]:
    """Say on the first page how the streams of this host are."""
    del request
    found = figures.current()
    if not found:
        return
    yield Line(f"{sum(each.connected for each in found):,} connected to this host")
    if streams := sum(each.signal_streams for each in found):
        yield Line(counted(streams, "signal stream"))
    if wait := max(each.oldest_wait_seconds for each in found):
        yield Line(f"A map has waited for {wait:.0f} s", tone=Tone.WARN)
    else:
        yield Line("Every map is delivered")
