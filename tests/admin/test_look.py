"""How pages show states, moments, and texts that others chose."""

import re

import pytest
from django.test import Client

from dns.models import Zone
from groups.models import Group
from groups.services import group_create
from meshmgmt.access.models import Policy
from meshmgmt.adminsite.look import badge, shown
from meshmgmt.api.pages import revealed
from tests.factories import peer, rule, setup_key

HOSTILE = "in\u202evoice\x1b[2J"
SEEN = r"in\u202evoice\x1b[2J"


@pytest.mark.parametrize(
    ("state", "tone"),
    [
        ("connected", "ok"),
        ("pending", "warn"),
        ("expired", "bad"),
        ("disabled", "off"),
        ("never heard of", "off"),
    ],
)
def test_a_state_is_a_word_in_its_colour(state: str, tone: str):
    assert badge(state) == f'<span class="badge badge--{tone}">{state}</span>'


def test_a_tone_may_be_given():
    assert 'badge--warn"' in badge("offline for 3 days", "warn")


def test_a_text_is_isolated():
    assert shown("a@b<b>") == "<bdi>a<wbr>@b&lt;b&gt;</bdi>"


def test_a_page_shows_what_hides_in_it_but_in_what_its_forms_send_back():
    page = (
        '<b title="{0}">{0}</b>\n<input value="{0}"><textarea a="b">{0}\n</textarea>{0}'
    )
    wanted = page.replace("{0}", SEEN, 2).replace("{0}", HOSTILE, 2)
    assert revealed(page.format(HOSTILE)) == wanted.replace("{0}", SEEN)
    plain = "<p>caf\u00e9 \u00a0\u2026 \u05e9\u05dc\u05d5\u05dd</p>\r\n\t"
    assert revealed(plain) == plain


def test_lists_and_pages_of_objects_hide_nothing_of_their_names(client: Client):
    group = group_create(name=HOSTILE)
    listed = client.get("/admin/groups/group/").content.decode()
    assert SEEN in listed
    assert 'data-label="Name"' in listed
    page = client.get(f"/admin/groups/group/{group.pk}/change/").content.decode()
    title = page.partition("<h1>")[2].partition("</h1>")[0]
    assert f"<bdi>{SEEN}</bdi>" in title
    assert not re.search("[\u202e\x1b]", listed + title)


def test_pages_about_objects_hide_nothing_of_hostile_names_and_escape_them(
    client: Client,
):
    bad = f"{HOSTILE}<b>"
    machine, team = peer(bad), group_create(name=bad)
    policy = rule([team], [team], Policy.objects.create(name=bad)).policy
    key = setup_key(bad)
    zone = Zone.objects.create(name=bad, domain="bad.internal")
    search = client.post("/admin/search/", {"words": "voice"}).content.decode()
    for path in (
        "/admin/",
        f"/admin/access/graph/?focus={policy.pk}",
        "/admin/events/auditevent/",
        f"/admin/inventory/peer/{machine.pk}/change/",
        f"/admin/inventory/peer/{machine.pk}/block/",
        "/admin/access/policy/",
        f"/admin/access/policy/{policy.pk}/change/",
        f"/admin/access/policy/{policy.pk}/disable/",
        f"/admin/groups/group/{team.pk}/delete/",
        f"/admin/access/setupkey/{key.pk}/rotate/",
        f"/admin/dns/zone/{zone.pk}/change/",
        "",
    ):
        page = client.get(path).content.decode() if path else search
        assert "<b>" not in page, path
        assert "</title>" in page
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", page), path
        if path != "/admin/":
            assert f"{SEEN}&lt;b&gt;" in page, path


def test_lists_write_moments_short_and_in_full_on_hover(client: Client):
    made = group_create(name="dated").created_at
    page = client.get("/admin/groups/group/").content.decode()
    full = f"{made:%Y-%m-%d %H:%M:%S} UTC"
    assert f'<time title="{full}">{made:%Y-%m-%d %H:%M}</time>' in page


def test_columns_of_numbers_stand_to_the_right_headings_too(client: Client):
    group_create(name="10.0.0.0")
    group_create(name="2024-01-01 00:00:01Z")
    page = client.get("/admin/groups/group/").content.decode()
    marked = re.findall(r"<t[hd][^>]*(?:column|field)-(\w+)[^>]* data-number", page)
    assert "2024-01-01 00:00:01Z" in page
    assert set(marked) == {"peers_count", "resources_count"}
    assert len(marked) == 2 * (1 + Group.objects.count())
