"""Which activities changes of the peer protocol's own objects emit."""

from events.activities import Activity
from events.audit import specs
from events.audit.specs import AuditSpec
from meshmgmt.control.models import ProxyToken


def register() -> None:
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
