"""Debug bundles that peers are asked for: by the API, in the admin site, in the tables."""

import datetime as dt
from typing import Any

import pytest

from meshmgmt.control.models import PeerJob
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import jobs
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound
from meshmgmt.core.ids import new_id
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_delete
from tests.admin.signed_in import client_of
from tests.api_client import Answer, Api
from tests.factories import Trail, changed, peer
from tests.people import api_as, api_of, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

PARAMETERS: dict[str, Any] = {
    "bundle_for": True,
    "bundle_for_time": 2,
    "log_file_count": 100,
    "anonymize": False,
}
LATER = dt.timedelta(minutes=1)


def connected(name: str = "web", **facts: Any) -> Peer:
    return peer(name, **{"connected": True, "version": "0.77.1", **facts})


def ask(api: Api, machine: Peer, **differing: Any) -> Answer:
    parameters = {**PARAMETERS, **differing}
    body = {"workload": {"type": "bundle", "parameters": parameters}}
    return api.post(f"/api/peers/{machine.pk}/jobs", body)


def sent(machine: Peer) -> PeerJob:
    """A job that its peer was sent."""
    job = jobs.job_create(peer_id=machine.pk, parameters=PARAMETERS)
    assert [order.job_id for order in jobs.take_orders({machine.pk})] == [job.pk]
    return job


def answered(job: PeerJob, **facts: Any) -> PeerJob:
    """Let the peer of a job answer it, and return what became of it."""
    jobs.take_answer(job.peer_id, pb.JobResponse(ID=job.pk.encode(), **facts))
    job.refresh_from_db()
    return job


def test_job_is_answered_as_the_reference_answers_it_and_audited():
    owner = person("owner")
    api, machine, trail = api_of(owner), connected(), Trail()
    made = ok(ask(api, machine))
    new = {"id": made["id"], "created_at": made["created_at"], "completed_at": None}
    new |= {"status": "pending", "failed_reason": None, "triggered_by": owner.pk}
    bundle = {"type": "bundle", "parameters": PARAMETERS}
    assert made == new | {"workload": bundle | {"result": {"upload_key": None}}}
    at = f"/api/peers/{machine.pk}/jobs"
    assert ok(api.get(f"{at}/{made['id']}")) == made
    assert ok(api.get(at)) == [made]
    [event] = trail.events
    assert (event.activity_code, event.target_id) == ("peer.job.create", machine.pk)
    assert event.meta == {"for_peer_name": "web", "job_type": "bundle"}
    assert event.initiator_id == owner.pk


def test_jobs_are_listed_newest_first(api: Api):
    machine = connected()
    first = sent(machine)
    answered(first, status=pb.JobStatus.failed)
    second = ok(ask(api, machine))
    listed = ok(api.get(f"/api/peers/{machine.pk}/jobs"))
    assert [row["id"] for row in listed] == [second["id"], first.pk]


@pytest.mark.parametrize(
    ("facts", "status", "text"),
    [
        ({"connected": False}, 400, "not connected"),
        ({"version": "0.63.9"}, 412, "0.64.0 or newer"),
        ({"version": ""}, 412, "0.64.0 or newer"),
    ],
)
def test_peer_that_cannot_do_it_is_not_asked(
    api: Api, facts: dict[str, Any], status: int, text: str
):
    refused = ask(api, connected(**facts))
    assert (refused.status, PeerJob.objects.count()) == (status, 0)
    assert text in refused.json["message"]


def test_peer_does_one_job_at_a_time(api: Api):
    machine = connected()
    ok(ask(api, machine))
    assert "pending job already" in ask(api, machine).refused(400).message
    ok(ask(api, connected("other")))


@pytest.mark.parametrize(
    ("differing", "status", "field"),
    [
        ({"log_file_count": 0}, 422, "log_file_count"),
        ({"log_file_count": 1001}, 422, "log_file_count"),
        ({"bundle_for_time": 0}, 422, "bundle_for_time"),
        ({"bundle_for_time": 6}, 422, "bundle_for_time"),
        ({"anonymize_level": "most"}, 422, "anonymize_level"),
        ({"log_file_count": "100"}, 400, "log_file_count"),
        ({"anonymize": 1}, 400, "anonymize"),
    ],
)
def test_parameters_that_no_peer_takes_are_named(
    api: Api, differing: dict[str, Any], status: int, field: str
):
    refused = ask(api, connected(), **differing)
    assert refused.status == status
    assert f"workload.parameters.{field}" in str(refused.json)
    assert not PeerJob.objects.exists()


@pytest.mark.parametrize(
    "body",
    [{}, {"workload": {}}, {"workload": {"type": "reboot", "parameters": PARAMETERS}}],
)
def test_what_is_no_bundle_is_refused(api: Api, body: dict[str, Any]):
    refused = api.post(f"/api/peers/{connected().pk}/jobs", body)
    assert refused.status == 422
    assert "workload" in str(refused.json)


def test_level_is_kept_where_it_is_given_and_time_where_nothing_waits(api: Api):
    made = ok(ask(api, connected(), anonymize_level="strict", bundle_for=False))
    told = made["workload"]["parameters"]
    assert told == {**PARAMETERS, "bundle_for": False, "anonymize_level": "strict"}


def test_job_is_found_under_its_own_peer_alone(api: Api):
    job, other = sent(connected()), connected("other")
    assert api.get(f"/api/peers/{other.pk}/jobs/{job.pk}").status == 404
    assert api.get(f"/api/peers/{job.peer_id}/jobs/{new_id()}").status == 404
    assert api.get(f"/api/peers/{job.peer_id}/jobs/x").status == 404
    for path in (f"/api/peers/{new_id()}/jobs", "/api/peers/x/jobs"):
        assert api.get(path).status == 404
        assert api.post(path, {}).status == 404


def test_asking_is_for_those_who_may_create_jobs():
    machine = connected()
    expected = {"network_admin": (403, 403), "auditor": (200, 403), "admin": (200, 200)}
    for role, statuses in expected.items():
        api = api_as(role)
        reading, asking = api.get(f"/api/peers/{machine.pk}/jobs"), ask(api, machine)
        assert (reading.status, asking.status) == statuses, role


def test_job_is_handed_to_one_process_alone():
    machine = connected()
    job = jobs.job_create(peer_id=machine.pk, parameters=PARAMETERS)
    assert jobs.take_orders({new_id()}) == []
    [order] = jobs.take_orders({machine.pk, new_id()})
    assert (order.job_id, order.peer_id) == (job.pk, machine.pk)
    assert jobs.take_orders({machine.pk}) == []
    request = pb.JobRequest.FromString(order.message)
    assert request.ID.decode() == job.pk
    assert request.bundle == pb.BundleParameters(
        bundle_for=True, bundle_for_time=2, log_file_count=100
    )


def test_upload_key_is_kept(api: Api):
    result = pb.BundleResult(upload_key="a/b.zip")
    job = answered(sent(connected()), status=pb.JobStatus.succeeded, bundle=result)
    row = ok(api.get(f"/api/peers/{job.peer_id}/jobs/{job.pk}"))
    assert (row["status"], row["failed_reason"]) == ("succeeded", None)
    assert row["workload"]["result"] == {"upload_key": "a/b.zip"}
    assert row["completed_at"] >= row["created_at"]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"status": pb.JobStatus.failed, "Reason": b"no \0room\xff"}, "no room"),
        ({"status": pb.JobStatus.failed}, jobs.NO_RESULT),
        ({}, jobs.NO_RESULT),
    ],
)
def test_job_that_failed_says_why(facts: dict[str, Any], reason: str):
    job = answered(sent(connected()), **facts)
    assert (job.status, job.failed_reason.rstrip("\ufffd")) == ("failed", reason)


@pytest.mark.parametrize("identifier", [b"", b"\0", b"\xff" * 9, b"x" * 100_000])
def test_answer_to_what_nobody_asked_is_left_aside(identifier: bytes):
    job = sent(connected())
    jobs.take_answer(job.peer_id, pb.JobResponse(ID=identifier))
    failed = pb.JobResponse(ID=job.pk.encode(), status=pb.JobStatus.failed)
    jobs.take_answer(peer("stranger").pk, failed)
    job.refresh_from_db()
    assert job.status == "pending"


def test_answer_comes_once():
    job = answered(sent(connected()), status=pb.JobStatus.succeeded)
    assert answered(job, status=pb.JobStatus.failed).status == "succeeded"


def test_peer_that_comes_again_has_given_up_what_it_was_sent():
    job, other = sent(connected()), sent(connected("other"))
    key = job.peer.wg_public_key
    assert jobs.streams_began(["nobody's", key, key]) == ["", job.peer_id, job.peer_id]
    job.refresh_from_db()
    other.refresh_from_db()
    assert (job.status, job.failed_reason) == ("failed", jobs.STREAM_ENDED)
    assert other.status == "pending"
    waiting = jobs.job_create(peer_id=job.peer_id, parameters=PARAMETERS)
    jobs.streams_began([key])
    waiting.refresh_from_db()
    assert waiting.status == "pending"


def test_job_without_an_answer_fails_after_a_day():
    young, old = sent(connected()), sent(connected("other"))
    created = clock.now() - jobs.PATIENCE
    PeerJob.objects.filter(pk=young.pk).update(created_at=created + LATER)
    PeerJob.objects.filter(pk=old.pk).update(created_at=created - LATER)
    jobs.look_after_jobs()
    young.refresh_from_db()
    old.refresh_from_db()
    assert young.status == "pending"
    assert (old.status, old.failed_reason) == ("failed", jobs.NO_ANSWER)
    assert old.completed_at is not None


def test_jobs_are_forgotten_after_a_month():
    kept, gone = sent(connected()), sent(connected("other"))
    for job, created in ((kept, LATER), (gone, -LATER)):
        jobs.give_up([job.pk])
        moment = clock.now() - jobs.KEPT + created
        PeerJob.objects.filter(pk=job.pk).update(created_at=moment)
    jobs.look_after_jobs()
    assert [job.pk for job in PeerJob.objects.all()] == [kept.pk]


def test_jobs_go_with_their_peer():
    job = sent(connected())
    peer_delete(peer_id=job.peer_id)
    assert not PeerJob.objects.exists()
    with pytest.raises(NotFound):
        jobs.job_rows(job.peer_id)


def page_of(machine: Peer) -> str:
    return f"/admin/control/proxytoken/jobs/{machine.pk}/"


def test_page_of_a_peer_leads_to_its_bundles_and_shows_what_became_of_them():
    owner = person("owner", email="ann@mesh.dev")
    machine, client = connected(), client_of(owner)
    change = client.get(f"/admin/inventory/peer/{machine.pk}/change/").content.decode()
    assert page_of(machine) in change
    assert "Ask for a debug bundle" in change
    form = {"log_file_count": "7", "minutes": "3", "anonymize": "on"}
    shown = client.post(page_of(machine), form, follow=True).content.decode()
    assert "The peer is asked for a debug bundle." in shown
    assert "not to this service" in shown
    [job] = PeerJob.objects.all()
    assert (job.triggered_by, job.status) == (owner.pk, "pending")
    asked = {"bundle_for_time": 3, "log_file_count": 7, "anonymize": True}
    assert job.parameters == {**PARAMETERS, **asked}
    again = client.post(page_of(machine), form).content.decode()
    assert "pending job already" in again
    result = pb.BundleResult(upload_key="k<e>y")
    answered(job, status=pb.JobStatus.succeeded, bundle=result)
    shown = client.get(page_of(machine)).content.decode()
    assert "k&lt;e&gt;y" in shown
    assert "succeeded" in shown
    assert "ann" in shown


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"version": "0.59.3"}, "has version 0.59.3; jobs need 0.64.0 or newer"),
        ({"connected": False}, "the peer is not connected"),
    ],
)
def test_page_offers_no_form_for_a_peer_that_cannot_be_asked(
    facts: dict[str, Any], reason: str
):
    machine = changed(connected(), **facts)
    shown = client_of(person("owner")).get(page_of(machine)).content.decode()
    assert reason in shown
    assert "Ask for it" not in shown


def test_page_is_read_by_auditors_and_closed_to_network_admins():
    machine = connected()
    form = {"log_file_count": "7", "minutes": "0"}
    auditor = client_of(person("auditor"))
    assert "Ask for it" not in auditor.get(page_of(machine)).content.decode()
    assert auditor.post(page_of(machine), form).status_code == 403
    network_admin = client_of(person("network_admin"))
    assert network_admin.get(page_of(machine)).status_code == 403
    change = f"/admin/inventory/peer/{machine.pk}/change/"
    assert page_of(machine) not in network_admin.get(change).content.decode()
    assert not PeerJob.objects.exists()
