"""Setup keys over HTTP."""

import datetime as dt
import re
from collections.abc import Iterator

import pytest

from groups.selectors import all_group_id
from meshmgmt.access.models import SetupKey
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.core import clock
from tests.api_client import Api
from tests.factories import group_id
from tests.resource_contract import Body, Fault, ResourceContract, Trail, ok

PATH = "/api/setup-keys"
NEVER = "0001-01-01T00:00:00Z"
DAY = 24 * 60 * 60


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


class TestSetupKeys(ResourceContract):
    path = PATH
    required = ("name", "type", "expires_in")
    created_codes = ("setupkey.add", "setupkey.group.add")
    deleted_codes = ("setupkey.group.delete", "setupkey.delete")
    updates = {"auto_groups": []}
    fixed = frozenset({"name", "type", "usage_limit", "expires_in"})

    def body(self, number: int = 1) -> Body:
        return setup_key(name=f"key {number}")

    def refused(self) -> Iterator[Fault]:
        yield (
            {"name": " "},
            422,
            "name",
            "the setup key name must not be empty or blank",
        )
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
        for bad, text in (
            ("x", "group 'x' was not found"),
            (all_group_id(), everybody),
        ):
            yield {"auto_groups": [bad]}, 422, "auto_groups[0]", text

    def readable(self, made: Body) -> Body:
        return made | {"key": f"{made['key'][:5]}****"}

    def test_absent_fields_keep_their_value(self, api: Api, where: str) -> None:
        made = self.readable(self.make(api, where))
        assert ok(api.put(f"{where}/{made['id']}", {})) == made
        changed = ok(api.put(f"{where}/{made['id']}", {"revoked": True}))
        assert changed["auto_groups"] == made["auto_groups"]
        changed = ok(api.put(f"{where}/{made['id']}", {"auto_groups": []}))
        assert changed["revoked"] is True


def test_new_key_is_shown_once_and_stored_as_hash(api: Api) -> None:
    made = ok(api.post(PATH, setup_key()))
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}", made["key"])
    stored = SetupKey.objects.get()
    assert stored.key_hash == token_hash(made["key"])
    shown = ok(api.get(f"{PATH}/{made['id']}"))
    assert shown == made | {"key": made["key"][:5] + "****"}
    assert ok(api.get(PATH)) == [shown]


def test_fields_of_a_new_key(api: Api) -> None:
    with clock.set_to(dt.datetime(2026, 1, 1, tzinfo=dt.UTC)):
        made = ok(api.post(PATH, setup_key(usage_limit=3)))
        shown = ok(api.get(f"{PATH}/{made['id']}"))
    assert made["expires"].startswith("2026-01-02T00:00:00")
    assert made["updated_at"].startswith("2026-01-01T00:00:00")
    assert {name: shown[name] for name in ("state", "valid", "revoked")} == {
        "state": "valid",
        "valid": True,
        "revoked": False,
    }
    assert (shown["used_times"], shown["last_used"]) == (0, NEVER)
    assert shown["usage_limit"] == 3


def test_key_without_expiry_lives_for_ever(api: Api) -> None:
    made = ok(api.post(PATH, setup_key(expires_in=0)))
    assert (made["expires"], made["valid"]) == (NEVER, True)


@pytest.mark.parametrize("limit", [0, 1])
def test_one_off_key_is_good_once(api: Api, limit: int) -> None:
    made = ok(api.post(PATH, setup_key(type="one-off", usage_limit=limit)))
    assert made["usage_limit"] == 1


def test_state_is_the_first_reason_not_to_be_valid(api: Api) -> None:
    made = ok(api.post(PATH, setup_key(type="one-off")))
    one = f"{PATH}/{made['id']}"

    def state() -> tuple[str, bool]:
        shown = ok(api.get(one))
        return shown["state"], shown["valid"]

    SetupKey.objects.unaudited_update(used_times=1)
    assert state() == ("overused", False)
    ok(api.put(one, {"revoked": True}))
    assert state() == ("revoked", False)
    with clock.set_to(clock.now() + dt.timedelta(seconds=DAY - 3600)):
        assert state() == ("revoked", False)


def test_key_is_expired_when_its_time_is_over(api: Api) -> None:
    made = ok(api.post(PATH, setup_key()))
    ok(api.put(f"{PATH}/{made['id']}", {"revoked": True}))
    key = SetupKey.objects.get()
    key.expires_at = clock.now() - dt.timedelta(seconds=1)
    key.save()
    shown = ok(api.get(f"{PATH}/{made['id']}"))
    assert (shown["state"], shown["valid"]) == ("expired", False)


def test_revoked_key_stays_revoked(api: Api) -> None:
    made = ok(api.post(PATH, setup_key()))
    trail = Trail()
    ok(api.put(f"{PATH}/{made['id']}", {"revoked": True}))
    assert trail.codes == ["setupkey.revoke"]
    answer = api.put(f"{PATH}/{made['id']}", {"revoked": False})
    assert answer.status == 422
    assert answer.fields == {"revoked": "a revoked setup key stays revoked"}
    ok(api.put(f"{PATH}/{made['id']}", {"revoked": True}))
    assert trail.codes == ["setupkey.revoke"]


def test_null_groups_are_none(api: Api) -> None:
    made = ok(api.post(PATH, setup_key()))
    assert (
        ok(api.put(f"{PATH}/{made['id']}", {"auto_groups": None}))["auto_groups"] == []
    )


def test_updated_at_moves_only_with_a_change(api: Api) -> None:
    made = ok(api.post(PATH, setup_key()))
    one = f"{PATH}/{made['id']}"
    later = clock.now() + dt.timedelta(hours=1)
    with clock.set_to(later):
        assert ok(api.put(one, made))["updated_at"] == made["updated_at"]
        repeated = {"auto_groups": made["auto_groups"] * 2}
        assert ok(api.put(one, repeated))["updated_at"] == made["updated_at"]
        assert ok(api.put(one, {"auto_groups": []}))["updated_at"] > made["updated_at"]


def test_events_mask_the_key(api: Api) -> None:
    body = setup_key()
    trail = Trail()
    made = ok(api.post(PATH, body))
    new = group_id("new")
    ok(api.put(f"{PATH}/{made['id']}", {"auto_groups": [new]}))
    events = [e for e in trail.events if e.activity_code.startswith("setupkey")]
    masked = made["key"][:5] + "****"
    assert events[0].meta == {"name": "servers", "type": "reusable", "key": masked}
    assert [(e.activity_code, e.target_id, e.meta) for e in events[1:]] == [
        (
            code,
            made["id"],
            {"group": name, "group_id": group_id(name), "setupkey": "servers"},
        )
        for code, name in (
            ("setupkey.group.add", "servers"),
            ("setupkey.group.delete", "servers"),
            ("setupkey.group.add", "new"),
        )
    ]
    changes = str([event.changes for event in events])
    assert made["key"] not in changes
    assert token_hash(made["key"]) not in changes
