"""Strict JSON types."""

from dataclasses import replace
from typing import Any

import pytest
from rest_framework.exceptions import ValidationError

from meshmgmt.api.exceptions import describe, error_body
from meshmgmt.api.fields import (
    ArrayField,
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
    checked,
    texts,
)
from tests.api_client import Api
from tests.resource_contract import refusal


class Inner(ObjectSerializer):
    port = WholeNumberField(default=53)
    ip = TextField()


class Outer(ObjectSerializer):
    name = TextField()
    enabled = TruthField()
    ttl = WholeNumberField()
    ids = texts()
    servers = ArrayField(child=Inner())


GOOD: dict[str, Any] = {
    "name": "n",
    "enabled": True,
    "ttl": 1,
    "ids": ["a"],
    "servers": [{"ip": "1.1.1.1"}],
}


def outcome(body: dict[str, Any]) -> tuple[int, list[str]]:
    try:
        checked(Outer, body)
    except ValidationError as error:
        status, _, errors = describe(error)
        return status, [e.field for e in errors]
    return 200, []


def test_good_body_passes_with_defaults_filled_in():
    assert checked(Outer, GOOD)["servers"] == [{"ip": "1.1.1.1", "port": 53}]


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("name", 5, "name"),
        ("name", True, "name"),
        ("name", ["n"], "name"),
        ("enabled", 1, "enabled"),
        ("enabled", "true", "enabled"),
        ("ttl", "53", "ttl"),
        ("ttl", 53.0, "ttl"),
        ("ttl", True, "ttl"),
        ("ttl", 2**63, "ttl"),
        ("ids", "a", "ids"),
        ("ids", {"a": 1}, "ids"),
        ("ids", [1], "ids[0]"),
        ("servers", [5], "servers[0]"),
        ("servers", [{"ip": "1.1.1.1", "port": "53"}], "servers[0].port"),
    ],
)
def test_wrong_json_type_is_400_and_names_the_field(field: str, value: Any, path: str):
    assert outcome({**GOOD, field: value}) == (400, [path])


@pytest.mark.parametrize("field", list(GOOD))
def test_missing_field_is_422_and_names_it(field: str):
    body = {k: v for k, v in GOOD.items() if k != field}
    assert outcome(body) == (422, [field])


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("servers", [{"ip": "1.1.1.1"}, {}], "servers[1].ip"),
        ("enabled", None, "enabled"),  # null is absent, but for texts and lists
        ("ttl", None, "ttl"),
        ("name", "a\0b", "name"),
    ],
)
def test_absent_parts_and_nul_are_422_with_their_field(
    field: str, value: Any, path: str
):
    assert outcome({**GOOD, field: value}) == (422, [path])


def test_null_is_empty_for_texts_and_lists():
    body = checked(Outer, {**GOOD, "name": None, "ids": None})
    assert (body["name"], body["ids"]) == ("", [])


def test_omitted_fields_are_empty_when_the_server_is_told_so(settings):
    settings.SVC = replace(settings.SVC, omitted_fields="empty")
    body = checked(Outer, {})
    assert body == {"name": "", "enabled": False, "ttl": 0, "ids": [], "servers": []}


def test_the_answer_about_omitted_fields_names_the_setting_once():
    with pytest.raises(ValidationError) as caught:
        checked(Outer, {"enabled": True})
    status, message, errors = describe(caught.value)
    body = str(error_body(message, status, errors))
    assert (status, len(errors)) == (422, 4)
    assert message.endswith(
        "(SVC_OMITTED_FIELDS=empty on the server reads omitted fields as empty)"
    )
    assert body.count("SVC_OMITTED_FIELDS") == 1


def test_answer_about_a_missing_object_does_not_name_the_setting():
    class Holder(ObjectSerializer):
        inner = Inner()

    with pytest.raises(ValidationError) as caught:
        checked(Holder, {})
    assert describe(caught.value)[1] == "inner: this object is required"


def test_text_is_kept_as_sent():
    assert checked(Outer, {**GOOD, "name": "  x\t"})["name"] == "  x\t"


def test_wrong_type_wins_over_a_missing_field():
    assert outcome({"name": 5})[0] == 400


@pytest.mark.django_db
@pytest.mark.parametrize(("entry", "status"), [({}, 422), (1, 400)])
def test_of_many_faults_the_first_hundred_are_told(api: Api, entry: Any, status: int):
    answer = api.post("/api/groups", {"name": "x", "resources": [entry] * 20_000})
    refusal(answer, status)
    assert len(answer.json["errors"]) == 100
    places = {fault.split(".")[0] for fault in answer.fields}
    assert places <= {f"resources[{number}]" for number in range(100)}


@pytest.mark.django_db
def test_of_faults_in_maps_and_in_lists_of_lists_a_hundred_are_told(api: Api):
    users = dict.fromkeys(map(str, range(5_000)), 1)
    rules = [{"authorized_groups": users}] + [{"ports": [1] * 200}] * 100
    for some in (rules[:1], rules[1:]):
        answer = api.post("/api/policies", {"name": "x", "rules": some})
        assert len(answer.json["errors"]) == 100
