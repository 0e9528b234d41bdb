"""A form that comes back late takes nothing away that others wrote meanwhile."""

import pytest
from django.test import Client
from django.utils.datastructures import MultiValueDict

from dns.services.zones import zones
from groups.admin.groups import GroupForm
from groups.models import Group, GroupResource
from groups.services import change_groups_of_peers, group_update
from meshmgmt.access.services.policies import posture_checks
from meshmgmt.core.orderedlinks import member_keys
from tests.admin.signed_in import client_of, errors_of, opened, saved
from tests.factories import group, groups_of_peer, peers
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return client_of(person("owner", email="late@mesh.test"))


ONE, TWO, THREE = ("r1", "host"), ("r2", "subnet"), ("r3", "domain")


def listed(of: Group) -> list[tuple[str, str]]:
    return list(member_keys(GroupResource, of))


def chosen(*resources: tuple[str, str]) -> list[str]:
    """Return resources as the form sends them."""
    return [" ".join(resource) for resource in resources]


def team_of(*resources: tuple[str, str]) -> Group:
    return group("team", resources=resources)


def change(of: Group, name: str, *resources: tuple[str, str]) -> None:
    """Write a group as somebody else does over the API."""
    group_update(group_id=of.pk, name=name, peers=None, resources=resources)


def at(of: Group) -> str:
    return f"/admin/groups/group/{of.pk}/change/"


def test_the_marks_are_in_the_page(client: Client):
    text = client.get(at(group("team"))).content.decode()
    assert '<input type="hidden" name="seen" value="{&quot;name&quot;:' in text


def test_members_added_meanwhile_stay_when_only_the_name_is_saved(client: Client):
    team = team_of(ONE)
    late = opened(client, at(team))
    change(team, "team", ONE, TWO, THREE)

    saved(client.post(at(team), {**late, "name": "crew"}))

    team.refresh_from_db()
    assert team.name == "crew"
    assert listed(team) == [ONE, TWO, THREE]


def test_a_field_that_both_changed_is_refused_once_and_then_meant(client: Client):
    team = team_of(ONE)
    late = {**opened(client, at(team)), "resources": chosen(ONE, THREE)}
    change(team, "crew", ONE, TWO)

    refused = client.post(at(team), late)

    errors = errors_of(refused)
    assert errors["resources"] == ["somebody else changed it meanwhile"]
    assert "changed meanwhile by" in errors["__all__"][0]
    assert listed(team) == [ONE, TWO]
    again = {**late, "seen": refused.context["adminform"].form.seen}
    assert client.post(at(team), again).status_code == 302
    team.refresh_from_db()
    assert team.name == "crew"  # which the page never touched
    assert listed(team) == [ONE, THREE]


def test_what_is_compared_is_what_is_stored_under_the_lock():
    team = team_of(ONE)
    seen = GroupForm(instance=team).seen
    sent = {"name": ["crew"], "resources": chosen(ONE), "seen": [seen]}
    form = GroupForm(MultiValueDict(sent), instance=team)
    change(team, "team", ONE, TWO)

    assert form.is_valid(), form.errors

    assert listed(team) == [ONE, TWO]


def test_the_same_change_on_both_sides_is_no_conflict(client: Client):
    team = team_of(ONE)
    late = {**opened(client, at(team)), "resources": chosen(ONE, TWO)}
    change(team, "team", ONE, TWO)

    assert client.post(at(team), late).status_code == 302


def test_another_mistake_keeps_the_marks_of_the_first_page(client: Client):
    team = team_of(ONE)
    late = opened(client, at(team))
    wrong = client.post(at(team), {**late, "name": ""})
    assert errors_of(wrong)["name"]
    change(team, "team", ONE, TWO)
    marks = wrong.context["adminform"].form.seen

    saved(client.post(at(team), {**late, "name": "crew", "seen": marks}))
    assert listed(team) == [ONE, TWO]


def test_a_group_that_a_peer_joined_meanwhile_stays_when_the_page_is_late(
    client: Client,
):
    [one] = peers(1)
    mine, late_group, wanted = group("mine", one), group("late"), group("wanted")
    path = f"/admin/inventory/peer/{one.pk}/change/"
    late = opened(client, path)
    change_groups_of_peers([one.pk], join=[late_group.pk])

    assert client.post(path, {**late, "name": "renamed"}).status_code == 302

    assert groups_of_peer(one.pk)[1:] == [mine.pk, late_group.pk]
    chosen = [mine.pk, wanted.pk]
    refused = client.post(path, {**late, "groups": chosen})
    assert errors_of(refused)["groups"] == ["somebody else changed it meanwhile"]


def test_switches_of_a_zone_changed_meanwhile_stay(client: Client):
    team = group("team")
    given = {"name": "corp", "domain": "corp.test", "distribution_groups": [team.pk]}
    zone = zones.create(given)
    path = f"/admin/dns/zone/{zone.pk}/change/"
    late = opened(client, path)
    theirs = {"enabled": False, "enable_search_domain": True}
    zones.update(zone.pk, {**theirs, "distribution_groups": [team.pk]})

    saved(client.post(path, {**late, "name": "crew"}))

    zone.refresh_from_db()
    assert (zone.name, zone.enabled, zone.enable_search_domain) == ("crew", False, True)


@pytest.mark.parametrize(
    "seen", ["", "nonsense", "[1]", '"x"', '{"peers": null}', "[" * 100_000]
)
def test_unreadable_marks_are_no_failure(client: Client, seen: str):
    team = group("team", *peers(1))
    late = {**opened(client, at(team)), "seen": seen}

    assert client.post(at(team), late).status_code in {200, 302}


def test_programs_of_a_posture_check_changed_meanwhile_stay(client: Client):
    versions = {"nb_version_check": {"min_version": "1.0"}}
    programs = {"process_check": {"processes": [{"linux_path": "/usr/bin/agent"}]}}
    check = posture_checks.create({"name": "old", "checks": versions})
    path = f"/admin/access/posturecheck/{check.pk}/change/"
    late = opened(client, path)
    posture_checks.update(check.pk, {"checks": {**versions, **programs}})

    assert client.post(path, {**late, "name": "new"}).status_code == 302

    check.refresh_from_db()
    assert (check.name, check.checks) == ("new", {**versions, **programs})
