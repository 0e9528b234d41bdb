"""A field declared in model and body is everywhere; see `api/test_declarations.py`."""

from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from django.test import Client

from events.models import AuditEvent
from meshmgmt.core import clock
from tests.api_client import Api
from tests.commands import printed
from tests.factories import group, newest_event
from tests.resource_contract import Body, ok
from tests.throwaway.models import ThingGroup

pytestmark = pytest.mark.django_db

HERE = Path(__file__).parent
DECLARED_IN = {"models.py", "api.py"}
PATH = "/api/things"


@pytest.fixture
def thing(api: Api) -> Body:
    body = {"name": "lamp", "enabled": True, "notes": "first", "groups": [group().pk]}
    made: Body = ok(api.post(PATH, body))
    return made


def change(api: Api, thing: Body, notes: str) -> AuditEvent:
    """Change the notes alone; return the event."""
    ok(api.put(f"{PATH}/{thing['id']}", {"notes": notes}))
    return newest_event()


def notes_of(api: Api, thing: Body, query: str = "") -> str:
    return str(ok(api.get(f"{PATH}/{thing['id']}{query}"))["notes"])


def test_it_is_declared_in_two_files():
    files = {path for path in HERE.glob("*.py") if path.name != Path(__file__).name}
    assert {path.name for path in files if "notes" in path.read_text()} == DECLARED_IN


def test_the_api_creates_reads_changes_and_keeps_it(api: Api, thing: Body):
    assert thing["notes"] == "first"
    assert ok(api.get(PATH)) == [thing]
    change(api, thing, "second")
    changed = ok(api.put(f"{PATH}/{thing['id']}", {"name": "bulb"}))
    assert changed == {**thing, "name": "bulb", "notes": "second"}
    assert ok(api.post(PATH, {"name": "bare", "enabled": True}))["notes"] == ""


def test_the_trail_has_it_before_and_after(api: Api, thing: Body):
    event = change(api, thing, "second")
    assert event.changes["notes"] == {"before": "first", "after": "second"}


def test_it_is_as_it_was_at_a_moment(api: Api, thing: Body):
    moment = quote(clock.rfc3339(clock.now()) or "")
    change(api, thing, "second")
    assert notes_of(api, thing, f"?at={moment}") == "first"
    assert notes_of(api, thing) == "second"


def test_a_plan_tells_it_and_a_revert_brings_it_back(api: Api, thing: Body):
    path = f"{PATH}/{thing['id']}?dry_run=true"
    plan = ok(api.put(path, {"notes": "second"}))["plan"]
    assert "second" in str(plan["objects"])
    assert notes_of(api, thing) == "first"
    event = change(api, thing, "second")
    ok(api.post(f"/api/events/audit/{event.pk}/revert"))
    assert notes_of(api, thing) == "first"


def test_a_deleted_one_comes_back_with_it(api: Api, thing: Body):
    ok(api.delete(f"{PATH}/{thing['id']}"))
    ok(api.post(f"/api/events/audit/{newest_event().pk}/revert"))
    assert ok(api.get(f"{PATH}/{thing['id']}")) == thing


def test_the_document_carries_it_there_and_back(api: Api, thing: Body, tmp_path: Path):
    document = yaml.safe_load(printed("config", "export"))
    assert document["things"][0]["notes"] == "first"
    document["things"][0]["notes"] = "by document"
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(document))
    printed("config", "apply", str(file))
    assert notes_of(api, thing) == "by document"


def test_the_admin_site_shows_and_writes_it(api: Api, client: Client, thing: Body):
    page = f"/admin/throwaway/thing/{thing['id']}/change/"
    form = client.get(page).context["adminform"].form
    assert form["notes"].value() == "first"
    sent = {"name": "lamp", "enabled": "on", "notes": "by hand"}
    answer = client.post(page, {**sent, "groups": thing["groups"]})
    assert answer.status_code == 302
    assert notes_of(api, thing) == "by hand"
    assert ThingGroup.objects.count() == 1
