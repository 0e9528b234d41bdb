"""Maps of recorded states, message by message: made, sent, and told to whom they change."""

import asyncio
import json
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from google.protobuf.json_format import MessageToDict

from meshmgmt import env
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server.netbirdconfig import LIFETIME, netbird_config
from meshmgmt.control.server.server import PeerServer
from meshmgmt.control.services.sessions import logout, open_sync
from tests.control import agents
from tests.control.agents import Agent
from tests.control.plain import comparable, differences
from tests.control.recordings import (
    FOLDER,
    SOURCE,
    Playback,
    Refused,
    fresh_store,
    meta_of,
    names,
    recording,
)
from tests.control.wholemessages import check_sync
from tests.servers import free_port

pytestmark = pytest.mark.django_db

MEANT = json.loads((FOLDER / "differences.json").read_text("utf-8"))


def from_the_store(playback, labels):
    """What the peers are told, by label."""
    store = fresh_store()
    return {label: playback.message(store, label) for label in labels}


def found_differences(name, told_of=from_the_store):
    """Yield path, recorded and got of what differs in a state."""
    state = recording(name)
    playback = Playback()
    for number, step in enumerate(state["steps"], 1):
        try:
            playback.play(step)
        except Refused as error:
            yield f"steps/{number}", "done", str(error)
            return
    playback.learn(state["peers"])
    labels = [label for label, found in state["maps"].items() if "sync" in found]
    told = told_of(playback, labels)
    for label, recorded in state["maps"].items():
        if "sync" in recorded:
            message = dict(recorded["sync"])
            message.pop("netbirdConfig", None)
            yield from differences(comparable(message), told[label], f"{label}/sync")
        for turn in recorded.get("login", {}).get("netbirdConfig", {}).get("turns", []):
            yield from differences(turn, told_turn(turn), f"{label}/login/turns")


def told_turn(recorded):
    """Return what a peer is told of the TURN server recorded, at any login."""
    config = env.load(
        {"SVC_TURN_URLS": recorded["hostConfig"]["uri"], "SVC_TURN_SECRET": "x"}
    )
    [turn] = netbird_config(config, now=1795349061 - LIFETIME).turns
    return MessageToDict(turn)


@pytest.mark.parametrize("name", names())
def test_every_peer_gets_the_recorded_map(name):
    assert_as_recorded(name, list(found_differences(name)))


def assert_as_recorded(name, found):
    meant = [entry for entry in MEANT if fnmatchcase(name, entry["state"])]
    unexpected = [
        difference
        for difference in found
        if not any(fnmatchcase(difference[0], entry["path"]) for entry in meant)
    ]
    assert unexpected == []
    # What is listed as a difference has to be one.
    for entry in meant:
        if entry["state"] != "*":
            assert any(fnmatchcase(path, entry["path"]) for path, *_ in found), entry


@pytest.mark.parametrize(
    "name", ["29-exit_node_v6", "13-netbird_ssh", "47-version_empty"]
)
def test_put_together_messages_are_whole_and_harmless(name):
    playback, store = Playback.of(name), fresh_store()
    for label in recording(name)["maps"]:
        message = store.message(playback.symbols[f"$peer.{label}"])
        parsed = pb.SyncResponse.FromString(message)
        check_sync(parsed)
        assert len(parsed.SerializeToString()) == len(message)


# Both databases give the same maps above: one is enough for the wire.
@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", names())
def test_every_peer_is_sent_the_recorded_map(name: str, tmp_path: Path):
    bind = f"127.0.0.1:{free_port()}"
    config = env.load({"SVC_GRPC_BIND": bind, "SVC_RUNTIME_DIR": str(tmp_path)})

    async def told(playback: Playback, labels: list[str]) -> dict[str, Any]:
        server, stopping, now = PeerServer(config), asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(server.run(stopping, now))
        try:
            return {label: await first_map(playback, label) for label in labels}
        finally:
            now.set()
            stopping.set()
            await serving
            for threads in (server.threads, server.upkeep, server.hub.maps):
                await asyncio.to_thread(threads.close)

    async def first_map(playback: Playback, label: str) -> dict[str, Any]:
        url, key = f"http://{bind}", playback.private_keys[label]
        async with Agent(url, private_key=key) as agent:
            agent.meta = playback.metas[label]
            async for message in agent.sync():
                message.ClearField("netbirdConfig")
                return playback.as_recorded(message)
        raise AssertionError(f"{label} was told nothing")

    def from_the_wire(playback: Playback, labels: list[str]) -> dict[str, Any]:
        connections.close_all()
        found: dict[str, Any] = agents.run(told(playback, labels))
        return found

    assert_as_recorded(name, list(found_differences(name, from_the_wire)))


RECORDED: dict[str, Any] = json.loads((FOLDER / "affected.json").read_text("utf-8"))
CONNECTED = "abcdefgh"


class Watched:
    """The account of the recording, with what each connected peer was told last."""

    def __init__(self) -> None:
        self.playback = Playback()
        for step in RECORDED["steps"]:
            self.playback.play(step)
        self.store = fresh_store()
        self.peers = {
            self.playback.symbols[f"$peer.{label}"]: label for label in CONNECTED
        }
        for peer_id in self.peers:
            self.store.message(peer_id)
        self.metas: dict[str, dict[str, Any]] = {}

    def run(self, call: dict[str, Any]) -> None:
        """Do what one call of the recording did."""
        for kind in ("sync_open", "sync_meta"):
            if kind in call:
                label = call[kind]
                self.metas.setdefault(label, {}).update(call.get("meta_changes", {}))
                meta = meta_of(label, self.metas[label])
                open_sync(self.playback.keys[label], meta, SOURCE)
                return
        if "logout" in call:
            logout(self.playback.keys[call["logout"]], os.urandom(24))
        elif "sync_close" not in call:
            self.playback.play({"ssh_pub_key": "ssh-ed25519 AAAA", **call})

    def told(self) -> str:
        """Labels of those that are told of what happened since the last call."""
        refresh = self.store.refresh()
        told = [
            peer_id
            for peer_id in refresh.chosen_from(self.peers)
            if peer_id not in refresh.deleted and self.store.changed(peer_id)
        ]
        gone = [self.peers.pop(id_) for id_ in refresh.deleted if id_ in self.peers]
        return "".join(sorted([*(self.peers[id_] for id_ in told), *gone]))

    def maps(self) -> dict[str, Any]:
        """The messages for all connected peers, from a store that begins anew."""
        fresh = fresh_store()
        found = {label: fresh.as_dict(id_) for id_, label in self.peers.items()}
        for message in found.values():
            del message["NetworkMap"]["Serial"]
        return found


@pytest.mark.slow
def test_those_are_told_whose_map_differs_and_nobody_else():
    watched = Watched()
    before = watched.maps()
    for row in RECORDED["changes"]:
        serial = watched.store.serial
        for call in row["calls"]:
            watched.run(call)
        told, after = watched.told(), watched.maps()
        differ = "".join(label for label in before if before[label] != after.get(label))
        assert told == differ, row["change"]
        assert watched.store.serial > serial or not told
        # More were told in the recording, but never others.
        assert set(told) <= set(row["told"]), row["change"]
        before = after
