"""Zone files in the admin site: pasted with a new zone, imported after a preview, saved."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from dns.admin import zonefiles
from dns.models import Record, Zone
from events.models import AuditEvent
from tests.admin.signed_in import client_of, errors_of, saved
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.dns.test_admin import zone_form
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

ADD = "/admin/dns/zone/add/"
FIVE = """$TTL 300
@ A 10.0.0.1
www CNAME @
a A 10.0.0.2
b 60 A 10.0.0.3
*.dev A 10.0.0.4"""


@pytest.fixture
def client() -> Client:
    return client_of(person("network_admin"))


@pytest.fixture
def stored(api: Api) -> str:
    """The id of a zone with one record, www.svc.test."""
    made: str = ok(api.post("/api/dns/zones", zone()))["id"]
    ok(api.post(f"/api/dns/zones/{made}/records", record()))
    return made


def importing(client: Client, zone_id: str, text: str = "", **form: Any) -> Any:
    data = {"text": text, "mode": "merge"} | form
    return client.post(f"/admin/dns/zone/{zone_id}/import/", data)


def token(page: Any) -> str:
    """Return what the button of a preview sends."""
    assert page.status_code == 200
    found: str = page.context["planned"].diff.fingerprint
    assert f'value="{found}"' in page.content.decode()
    return found


def names() -> set[str]:
    return set(Record.objects.values_list("name", flat=True))


def test_a_new_zone_takes_pasted_records(client: Client):
    saved(client.post(ADD, zone_form(paste=FIVE)))
    assert names() == {
        *("svc.test", "www.svc.test", "a.svc.test", "b.svc.test", "*.dev.svc.test")
    }
    codes = AuditEvent.objects.order_by("id").values_list("activity_code", flat=True)
    assert list(codes)[-6:] == ["dns.zone.create"] + ["dns.zone.record.create"] * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@ 60 MX 10 mail", "line 1, column"),
        ("a 60 A 10.0.0.1\n" * 501, "more than 500 lines"),
    ],
)
def test_a_faulty_paste_leaves_no_zone(client: Client, text: str, message: str):
    shown = errors_of(client.post(ADD, zone_form(paste=text)))
    assert message in shown["paste"][0]
    assert not Zone.objects.exists()


def test_the_page_of_a_zone_leads_to_import_and_export(client: Client, stored: str):
    page = client.get(f"/admin/dns/zone/{stored}/change/").content.decode()
    for name in ("import", "export"):
        path = f"/admin/dns/zone/{stored}/{name}/"
        assert f'href="{path}"' in page
        assert client.get(path).status_code == 200
        assert client.get(f"/admin/dns/zone/{'0' * 20}/{name}/").status_code == 404


def test_an_export_is_a_file_that_changes_nothing(
    client: Client, api: Api, stored: str
):
    saved_file = client.get(f"/admin/dns/zone/{stored}/export/")
    assert saved_file["Content-Disposition"] == 'attachment; filename="svc.test.zone"'
    assert b"www" in saved_file.content
    path = f"/api/dns/zones/{stored}/zonefile?preview=true"
    assert ok(api.call("PUT", path, saved_file.content))["unchanged"] == 1


def test_a_preview_shows_the_difference_and_writes_nothing(client: Client, stored: str):
    before = AuditEvent.objects.count()
    text = "new 60 A 10.0.0.9\nmail 60 MX 10 mail\n@ 60 NS ns"
    page = importing(client, stored, text, mode="replace").content.decode()
    for said in (
        *("1 added, 0 changed,", "1 removed", "<td>new.svc.test</td>"),
        "line 2 is left out: mail.svc.test MX",
        *("1 SOA and NS record of the zone itself ignored", "Import: 2 changes"),
    ):
        assert said in page
    assert AuditEvent.objects.count() == before
    assert names() == {"www.svc.test"}


def test_what_was_shown_is_imported(client: Client, stored: str):
    text = "www 60 A 10.0.0.7\nnew 60 A 10.0.0.9"
    sent = token(importing(client, stored, text, mode="replace"))
    done = importing(client, stored, text, mode="replace", confirm=sent)
    there = f"/admin/dns/zone/{stored}/change/"
    assert (done.status_code, done["Location"]) == (302, there)
    message, undo = get_messages(done.wsgi_request)
    assert "1 added, 1 changed, 0 removed" in str(message)
    assert "Take it back" in str(undo)
    assert names() == {"www.svc.test", "new.svc.test"}


def test_a_zone_that_changed_meanwhile_is_shown_anew(
    client: Client, api: Api, stored: str
):
    text = "new 60 A 10.0.0.9"
    sent = token(importing(client, stored, text, mode="replace"))
    path = f"/api/dns/zones/{stored}/records"
    ok(api.post(path, record(name="other.svc.test")))
    page = importing(client, stored, text, mode="replace", confirm=sent)
    assert "Nothing was written" in page.content.decode()
    assert "<td>other.svc.test</td>" in page.content.decode()
    assert names() == {"www.svc.test", "other.svc.test"}
    importing(client, stored, text, mode="replace", confirm=token(page))
    assert names() == {"new.svc.test"}


def test_another_text_or_mode_than_shown_is_not_imported(client: Client, stored: str):
    sent = token(importing(client, stored, "new 60 A 10.0.0.9"))
    other = importing(client, stored, "new 60 A 10.0.0.8", confirm=sent)
    assert "Nothing was written" in other.content.decode()
    mode = importing(client, stored, "new 60 A 10.0.0.9", mode="replace", confirm=sent)
    assert "Nothing was written" in mode.content.decode()
    assert names() == {"www.svc.test"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 60 A 10.0.0\nb 60 A x", "line 2, column"),
        ("www 60 CNAME a", "CNAME must be alone"),
        ("<script> 60 A 10.0.0.1", "&lt;script&gt;"),
    ],
)
def test_faults_are_shown_with_their_places(
    client: Client, stored: str, text: str, message: str
):
    page = importing(client, stored, text).content.decode()
    assert message in page
    assert 'name="confirm"' not in page
    assert "<script> 60" not in page


def upload(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("svc.zone", data)


def test_a_small_file_is_carried_to_the_next_step(client: Client, stored: str):
    page = importing(client, stored, file=upload(b"new 60 A 10.0.0.9"))
    assert "new 60 A 10.0.0.9</textarea>" in page.content.decode()
    importing(client, stored, page.context["form"]["text"].value(), confirm=token(page))
    assert names() == {"www.svc.test", "new.svc.test"}


def test_a_file_parted_by_tabs_is_imported_as_it_was_shown(client: Client, stored: str):
    data = b"$TTL 60\nnew\tA\t10.0.0.9\n\tA\t10.0.0.8\n\tAAAA\tfd00::1\n"
    page = importing(client, stored, file=upload(data))
    importing(client, stored, page.context["form"]["text"].value(), confirm=token(page))
    assert names() == {"www.svc.test", "new.svc.test"}
    assert Record.objects.filter(name="new.svc.test").count() == 3


def test_the_faults_of_a_file_are_shown(client: Client, stored: str):
    data = b"$TTL 300\nwww A 10.0.0.999\n"
    page = importing(client, stored, file=upload(data)).content.decode()
    assert "line 2, column 7" in page
    assert 'name="confirm"' not in page


def test_a_large_file_is_chosen_once_more(
    client: Client, stored: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(zonefiles, "CARRIED", 10)
    page = importing(client, stored, file=upload(b"new 60 A 10.0.0.9"))
    assert "choose it once more" in page.content.decode()
    assert "10.0.0.9</textarea>" not in page.content.decode()
    file = upload(b"new 60 A 10.0.0.9")
    importing(client, stored, file=file, confirm=token(page))
    assert "new.svc.test" in names()


@pytest.mark.parametrize(
    ("data", "message"), [(b"\xff", "not UTF-8"), (b"; " + b"x" * 200, "larger than")]
)
def test_files_that_cannot_be_read_are_refused(
    client: Client,
    stored: str,
    data: bytes,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(zonefiles, "ZONE_FILE_BYTES", 100)
    assert message in importing(client, stored, file=upload(data)).content.decode()


def test_of_many_changes_some_are_listed_and_all_are_imported(
    client: Client, stored: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(zonefiles, "SHOWN", 3)
    text = "\n".join(f"n{number} 60 A 10.0.0.1" for number in range(10))
    page = importing(client, stored, text)
    assert page.content.decode().count('<tr class="dns-added">') == 3
    assert importing(client, stored, text, confirm=token(page)).status_code == 302
    assert len(names()) == 11


def test_importing_needs_the_permission(stored: str):
    auditor = client_of(person("auditor"))
    assert auditor.get(f"/admin/dns/zone/{stored}/export/").status_code == 200
    assert auditor.get(f"/admin/dns/zone/{stored}/import/").status_code == 403
    assert importing(auditor, stored, "new 60 A 10.0.0.9").status_code == 403
    page = auditor.get(f"/admin/dns/zone/{stored}/change/").content.decode()
    assert f"/admin/dns/zone/{stored}/import/" not in page
    plain = client_of(person("user"))
    assert plain.get(f"/admin/dns/zone/{stored}/export/").status_code in {302, 403}
