"""Setup keys over HTTP."""

import datetime as dt
from collections.abc import Iterator

from groups.selectors import all_group_id
from meshmgmt.access.models import SetupKey
from meshmgmt.core import clock
from tests.api_client import Api
from tests.factories import group_id
from tests.resource_contract import (
    ABSENT,
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
    SecretContract,
    ok,
)

PATH = "/api/setup-keys"
NEVER = "0001-01-01T00:00:00Z"
HOUR = 60 * 60
DAY = 24 * HOUR


def setup_key(**changes: object) -> Body:
    body = {
        "name": "servers",
        "type": "reusable",
        "expires_in": DAY,
        "auto_groups": [group_id("servers")],
        "usage_limit": 0,
        "ephemeral": False,
        "allow_extra_dns_labels": False,
    }
    return body | changes


def of_group(name: str) -> Body:
    """Return what an event says of a group that the key joins or leaves."""
    return {"group": name, "group_id": group_id(name), "setupkey": "key 9"}


class TestSetupKeys(SecretContract, ResourceContract):
    path = PATH
    required = ("name", "type", "expires_in")
    created_codes = ("setupkey.add", "setupkey.group.add")
    deleted_codes = ("setupkey.group.delete", "setupkey.delete")
    updates = {"auto_groups": []}
    fixed = frozenset({"name", "type", "usage_limit", "expires_in"})
    filled_in = frozenset({"id", "key", "expires", "updated_at"})
    secret = "key"
    form = r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"

    def body(self, number: int = 1) -> Body:
        return setup_key(name=f"key {number}")

    def answered(self) -> Iterator[Answered]:
        new: Body = {"expires_in": ABSENT, "state": "valid", "valid": True}
        new |= {"revoked": False, "used_times": 0, "last_used": NEVER}
        yield setup_key(usage_limit=3), new
        for limit in (0, 1):
            once = setup_key(type="one-off", usage_limit=limit)
            yield once, {**new, "usage_limit": 1}

    def told(self, made: Body) -> dict[str, Body]:
        key = {"name": "key 1", "type": "reusable", "key": made["key"][:5] + "****"}
        joined = of_group("servers") | {"setupkey": "key 1"}
        return {"setupkey.add": key, "setupkey.group.add": joined}

    def changes(self, made: Body) -> Iterator[Change]:
        told = {"setupkey.group.delete": of_group("servers")}
        told["setupkey.group.add"] = of_group("new")
        yield {"auto_groups": [group_id("new")]}, {}, told
        empty: Body = {"auto_groups": []}
        yield {"auto_groups": None}, empty, {"setupkey.group.delete": of_group("new")}
        revoked = {"revoked": True, "state": "revoked", "valid": False}
        yield {"revoked": True}, revoked, ["setupkey.revoke"]
        yield {"revoked": True}, {}, []

    def refused(self) -> Iterator[Fault]:
        blank = "the setup key name must not be empty or blank"
        yield {"name": " "}, 422, "name", blank
        yield {"name": "n" * 256}, 422, "name", "the setup key name has more than 255"
        text = "'twice' is no type of setup key: use reusable or one-off"
        yield {"type": "twice"}, 422, "type", text
        text = "good once; use type reusable for a usage limit above 1"
        yield {"type": "one-off", "usage_limit": 2}, 422, "usage_limit", text
        for field, most, what in (
            ("usage_limit", 2**31 - 1, "the usage limit"),
            ("expires_in", 3153600000, "the time until expiry"),
        ):
            for value in (-1, most + 1, 2**62):
                text = f"{what} must be from 0 to {most}, not {value}"
                yield {field: value}, 422, field, text
        everybody = "everybody is in the group All without joining it"
        yield {"auto_groups": ["x"]}, 422, "auto_groups[0]", "group 'x' was not found"
        yield {"auto_groups": [all_group_id()]}, 422, "auto_groups[0]", everybody

    def readable(self, made: Body) -> Body:
        return made | {"key": f"{made['key'][:5]}****"}

    def test_absent_fields_keep_their_value(self, api: Api, where: str):
        made = self.readable(self.make(api, where))
        assert ok(api.put(f"{where}/{made['id']}", {})) == made
        changed = ok(api.put(f"{where}/{made['id']}", {"revoked": True}))
        assert changed["auto_groups"] == made["auto_groups"]
        changed = ok(api.put(f"{where}/{made['id']}", {"auto_groups": []}))
        assert changed["revoked"] is True


def test_key_ends_a_time_after_it_was_made_or_never(api: Api):
    with clock.set_to(dt.datetime(2026, 1, 1, tzinfo=dt.UTC)):
        made = ok(api.post(PATH, setup_key()))
        for_ever = ok(api.post(PATH, setup_key(expires_in=0)))
    assert made["expires"].startswith("2026-01-02T00:00:00")
    assert made["updated_at"].startswith("2026-01-01T00:00:00")
    assert (for_ever["expires"], for_ever["valid"]) == (NEVER, True)


def test_state_is_the_first_reason_not_to_be_valid(api: Api):
    made = ok(api.post(PATH, setup_key(type="one-off", expires_in=2 * HOUR)))
    one = f"{PATH}/{made['id']}"

    def state() -> tuple[str, bool]:
        shown = ok(api.get(one))
        return shown["state"], shown["valid"]

    SetupKey.objects.unaudited_update(used_times=1)
    assert state() == ("overused", False)
    ok(api.put(one, {"revoked": True}))
    assert state() == ("revoked", False)
    for hours, word in ((1, "revoked"), (3, "expired")):
        with clock.set_to(clock.now() + dt.timedelta(hours=hours)):
            assert state() == (word, False)


def test_revoked_key_stays_revoked(api: Api):
    one = f"{PATH}/{ok(api.post(PATH, setup_key()))['id']}"
    ok(api.put(one, {"revoked": True}))
    answer = api.put(one, {"revoked": False}).refused(422)
    assert answer.fields == {"revoked": "a revoked setup key stays revoked"}


def test_updated_at_moves_only_with_a_change(api: Api):
    made = ok(api.post(PATH, setup_key()))
    one = f"{PATH}/{made['id']}"
    with clock.set_to(clock.now() + dt.timedelta(hours=1)):
        assert ok(api.put(one, made))["updated_at"] == made["updated_at"]
        repeated = {"auto_groups": made["auto_groups"] * 2}
        assert ok(api.put(one, repeated))["updated_at"] == made["updated_at"]
        assert ok(api.put(one, {"auto_groups": []}))["updated_at"] > made["updated_at"]
