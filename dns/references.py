"""How DNS objects refer to groups; deleting a group takes it out of them."""

from dns.models import DisabledManagementGroup, NameserverGroupGroup, ZoneGroup
from groups import references
from groups.references import ListReference


def register() -> None:
    """Tell the groups' registry about the lists of groups in this app.

    A nameserver group or zone that loses its last group is disabled: nobody asked for
    it to be handed to whoever is put into its list next.
    """
    references.register(
        ListReference(NameserverGroupGroup, kind="nameserver_group", switch="enabled"),
        ListReference(ZoneGroup, kind="zone", switch="enabled"),
        ListReference(DisabledManagementGroup, kind="dns_settings"),
    )
