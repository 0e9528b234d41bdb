"""Completes events at arrival with what we know of peers, users, policies and places.

A batch costs a handful of queries however many events it holds.
"""

import ipaddress
from collections.abc import Collection
from typing import Any

from events import directory, places
from events.streams.proxy import Entry
from events.streams.traffic import Endpoint, Traffic
from events.vocabulary import CONNECTIONS, RESOURCE_TYPES
from meshmgmt.core.addresses import host_of


def wanted_traffic(events: list[Any]) -> list[Any]:
    reporters = {event.content.reporter_id for event in events}
    unlogged = directory.unlogged.only(reporters)
    if not unlogged:
        return events
    return [e for e in events if e.content.reporter_id not in unlogged]


class _Known:
    def __init__(
        self,
        *,
        peers: Collection[str] = (),
        addresses: Collection[str] = (),
        users: Collection[str] = (),
        policies: Collection[str] = (),
        resources: Collection[str] = (),
    ) -> None:
        found = list(directory.peers.only(peers, addresses))
        self.peers = {peer.id: peer for peer in found}
        self.by_address = {peer.address: peer for peer in found if peer.address}
        self.resources = {item.id: item for item in directory.resources.only(resources)}
        keys = {*users, *(peer.user_id for peer in found)} - {""}
        self.users: dict[str, directory.UserFacts] = {}
        for user in directory.users.only(keys):
            self.users[user.id] = user
            # An id wins over an e-mail: whoever chose an address like another's id gets
            # nothing of theirs.
            if user.email:
                self.users.setdefault(user.email.lower(), user)
        self.policies = directory.policies.only(policies)
        self.overlay = directory.overlay.only()

    def in_overlay(self, address: str) -> bool:
        """Tell whether an address text lies in the peers' networks."""
        host = host_of(address)
        if not host:
            return False
        parsed = ipaddress.ip_address(host)
        return any(parsed in network for network in self.overlay)


def enrich_traffic(events: list[Any]) -> list[Any]:
    contents = [event.content for event in events]
    ends = [
        end for content in contents for end in (content.source, content.destination)
    ]
    known = _Known(
        peers={end.id for end in ends if end.id},
        addresses={host_of(end.address) for end in ends if not end.id} - {""},
        users={content.user.id for content in contents} - {""},
        policies={
            content.policy.id
            for content in contents
            if content.policy.id and not content.policy.name
        },
        resources={end.id for end in ends if end.id and end.type != "PEER"},
    )
    # Ends first: whose user it is, and how they are connected, is told by their ids.
    for content in contents:
        _complete_end(content.source, known)
        _complete_end(content.destination, known)
        _complete_user(content, known)
        policy = content.policy
        policy.name = policy.name or known.policies.get(policy.id, "")
        content.connection_type = content.connection_type or _connection(content, known)
    return events


def _complete_end(end: Endpoint, known: _Known) -> None:
    peer = known.peers.get(end.id)
    if peer is None and not end.id:
        peer = known.by_address.get(host_of(end.address))
    if peer is not None:
        end.id = peer.id
        end.type = "PEER"
        end.name = end.name or peer.name
        end.os = end.os or peer.os or None
        end.dns_label = end.dns_label or peer.dns_label or None
        end.address = end.address or peer.address
    elif (resource := known.resources.get(end.id)) is not None:
        end.name = end.name or resource.name
        if end.type == "UNKNOWN":
            end.type = f"{resource.type.upper()}_RESOURCE"
    _locate(end)


def _locate(end: Endpoint) -> None:
    """Fill country and city of a public address from the local database, if any."""
    location = end.geo_location
    if location.country_code or location.city_name:
        return
    if place := places.look_up(host_of(end.address)):
        location.country_code = place.country_code
        location.city_name = place.city_name


def _complete_user(content: Traffic, known: _Known) -> None:
    """Fill the user: by id, else the one the source peer belongs to."""
    user = content.user
    if not user.id and not user.email:
        source = known.peers.get(content.source.id)
        user.id = source.user_id if source else ""
    facts = known.users.get(user.id)
    if facts is not None:
        user.id = facts.id
        user.name = user.name or facts.name
        user.email = user.email or facts.email


def _connection(content: Traffic, known: _Known) -> str:
    """Return ROUTED when an end is a resource or outside the overlay, else P2P."""
    for end in (content.source, content.destination):
        if end.type in RESOURCE_TYPES:
            return CONNECTIONS[1]
        if end.type != "PEER" and not known.in_overlay(end.address):
            return CONNECTIONS[1]
    return CONNECTIONS[0]


def enrich_proxy(events: list[Any]) -> list[Any]:
    """Complete checked proxy entries in place and return them.

    A source address of ours adds `peer_id` and `peer_name` to the metadata; a log that
    names users by e-mail (a proxy's own login) gets the user's id.
    """
    contents = [event.content for event in events]
    known = _Known(
        addresses={content.source_ip for content in contents} - {""},
        # E-mails are looked up in lower case, ids as they are.
        users={
            key
            for content in contents
            for key in (content.user_id, content.user_id.lower())
        }
        - {""},
    )
    for content in contents:
        _complete_entry(content, known)
    return events


def _complete_entry(content: Entry, known: _Known) -> None:
    user_id = content.user_id
    facts = known.users.get(user_id) or known.users.get(user_id.lower())
    if facts is not None:
        content.user_id = facts.id
    peer = known.by_address.get(content.source_ip)
    if peer is not None:
        metadata = content.metadata
        metadata.setdefault("peer_id", peer.id)
        metadata.setdefault("peer_name", peer.name)
    if content.country_code:
        return
    if place := places.look_up(content.source_ip):
        content.country_code = place.country_code
        content.city_name = content.city_name or place.city_name
        content.subdivision_code = content.subdivision_code or place.subdivision_code
