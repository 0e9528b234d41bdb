"""Who is told of 78 single changes, against those whose map really differs."""

import json
import os
from typing import Any

import pytest

from meshmgmt.control.services.sessions import logout, open_sync
from tests.control.recordings import FOLDER, SOURCE, Playback, fresh_store, meta_of

pytestmark = pytest.mark.django_db

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
