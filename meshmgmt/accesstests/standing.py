"""Keeps the states of tests true, and refuses the writes that would break a promise.

Under the write lock nobody else changes anything, so the state on record is how a test
went before a write, once what machines reported since is looked at. At the end of the
write those tests are judged again that it may have touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from django.db.models import Model

from events.activities import Activity
from events.audit.changes import Change
from events.audit.emission import audit_record, changes_written
from meshmgmt.accesstests.judging import (
    Outcome,
    is_kept_by,
    judged,
    read_mesh,
    read_near,
)
from meshmgmt.accesstests.models import FAILING, PASSING, AccessTest, Looked
from meshmgmt.accesstests.rules import ACCESS, DNS, PEERS
from meshmgmt.accesstests.touching import TOLD, Touch, touch_of
from meshmgmt.accounts.models import Account
from meshmgmt.control.changes import changes_since, newest_serial
from meshmgmt.core import clock, context
from meshmgmt.core.context import SYSTEM
from meshmgmt.core.errors import Conflict
from meshmgmt.core.queries import fetched
from meshmgmt.core.transactions import (
    account_write,
    queued_write,
    read_snapshot,
    wholeness_asked,
    write_beginning,
)
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh import Mesh
from meshmgmt.meshstate.loading import load_sides, mesh_of

EVERY_SECONDS: Final = 10.0
# Asked at the beginning and end of every write.
_SERIAL: Final = f"SELECT serial FROM {Looked._meta.db_table}"  # noqa: S608 - our name
_LOGIN_ENDS: Final[Mapping[type[Model], tuple[str, ...]]] = {
    Account: ("peer_login_expiration", "peer_login_expiration_enabled"),
    Peer: ("login_expiration_enabled", "login_expired", "last_login"),
}
"""Columns that decide when logins end."""
_Judged = list[tuple[AccessTest, Outcome]]


class PromiseBroken(Conflict):
    """A write would make enforced tests fail that pass; the details say how."""

    def __init__(self, broken: _Judged) -> None:
        test, outcome = broken[0]
        first = outcome.failures[0]
        ends = f"{first['source']['name']} to {first['destination']['name']}"
        more = f" (and {len(broken) - 1} more tests)" if len(broken) > 1 else ""
        super().__init__(
            f"access test {test.name!r} would fail: {ends}: {first['because']}{more}"
        )
        self.details = {
            "tests": [
                {"id": test.pk, "name": test.name, "failures": outcome.failures}
                for test, outcome in broken
            ]
        }


def register() -> None:
    """Stand by at every write of the account."""
    write_beginning.connect(_before, dispatch_uid="accesstests.before")
    changes_written.connect(_after, dispatch_uid="accesstests.after")
    wholeness_asked.connect(_is_whole, dispatch_uid="accesstests.whole")


def look_after_reports() -> None:
    """Note what became of tests by what machines reported; for housekeeping.

    Judging takes no lock: only what changed is judged again under it.
    """
    with read_snapshot():
        since = _looked()
        if since is None:
            return
        newest, tests = _touched_since(since)
        if newest == since:
            return
        changed = [
            test.pk for test, outcome in outcomes(tests) if _differs(test, outcome)
        ]
    # Without a change nothing is audited, and no writer needs to wait.
    with account_write() if changed else queued_write():
        _note(outcomes(AccessTest.objects.filter(pk__in=changed, enabled=True)))
        Looked.objects.filter(serial__lt=newest).update(serial=newest)


def _before(**kwargs: Any) -> None:
    """Look at what machines reported, so that it is not laid to this write."""
    if context.current().unattended or (since := _looked()) is None:
        return
    newest, tests = _touched_since(since)
    if newest != since:
        with context.scope(actor=SYSTEM):
            _note(outcomes(tests))
        Looked.objects.update(serial=newest)


def _after(changes: Sequence[Change], **kwargs: Any) -> None:
    """Judge the tests that were written and touched. Raises PromiseBroken."""
    # Before all else: a test that was just made must not count as broken by this write.
    written = [each for each in changes if isinstance(each.instance, AccessTest)]
    if written:
        _judge_written(written)
    if context.current().unattended or (since := _looked()) is None:
        return
    newest, touched = changes_since(since)
    if newest == since:
        return
    touch = touch_of(changes, touched)
    tests = touch.tests()
    kept = _kept(tests, touch)
    # Of what may have broken all is told.
    judged_whole = outcomes(test for test in tests if test not in kept)
    if broken := _broken(judged_whole, timely=not any(map(_ends_logins, changes))):
        raise PromiseBroken(broken)
    passing = [(test, Outcome(PASSING, [])) for test in kept]
    _note([*passing, *judged_whole])
    Looked.objects.update(serial=newest)


def _judge_written(changes: Sequence[Change]) -> None:
    """Note how tests go that were made or are others now: what is new may fail."""
    chosen = [change.pk for change in changes if {*change.changed_fields} - TOLD]
    _note(outcomes(AccessTest.objects.filter(pk__in=chosen).order_by("id")))
    if not AccessTest.objects.exists():
        Looked.objects.all().delete()  # writes look no further
    elif not Looked.objects.exists():
        Looked.objects.create(serial=newest_serial())


def _kept(tests: Sequence[AccessTest], touch: Touch) -> set[AccessTest]:
    """Those that passed, and go on by what is between the touched peers."""
    between = [
        test
        for test in tests
        if (test.kind, test.state) == (ACCESS, PASSING)
        and test.destination_kind in PEERS
    ]
    if not between:
        return set()
    if touch.sides is not None:
        mesh = mesh_of(partial(load_sides, touch.sides))
        return {each for each in between if is_kept_by(mesh, each)}
    if not touch.is_of_members:
        return set()
    # With one member left a test may be about nobody, which pairs do not tell.
    thin = touch.thin_groups()
    chosen = [test for test in between if thin.isdisjoint(ref for _, ref in test.ends)]
    mesh = read_near(chosen, touch)
    return {each for each in chosen if is_kept_by(mesh, each, touch.moved)}


def _is_whole(**kwargs: Any) -> bool:
    """What is cut into pieces changes names alone."""
    return AccessTest.objects.filter(enforce=True, enabled=True, kind=DNS).exists()


def _looked() -> int | None:
    rows = fetched(_SERIAL)
    return rows[0][0] if rows else None


def _touched_since(serial: int) -> tuple[int, list[AccessTest]]:
    newest, touched = changes_since(serial)
    if newest == serial:
        return newest, []
    return newest, Touch.by_machines(touched).tests()


def outcomes(tests: Iterable[AccessTest]) -> _Judged:
    """Judge tests as the account is now; to be called in one transaction."""
    chosen = list(tests)
    if not chosen:
        return []
    mesh = read_mesh(chosen)
    return [(test, judged(mesh, test)) for test in chosen]


def _broken(found: _Judged, *, timely: bool) -> _Judged:
    """The promises that break; `timely`: by what was written, not by the time alone."""
    failing = [
        (test, outcome)
        for test, outcome in found
        if test.enforce and (test.state, outcome.state) == (PASSING, FAILING)
    ]
    if not (failing and timely):
        return failing
    # By the clock of the last look: what fails there too was broken by this write.
    snapshot = read_mesh([test for test, _ in failing]).snapshot
    moments = {test.checked_at for test, _ in failing}
    then = {at: Mesh(snapshot, at.timestamp()) for at in moments if at is not None}
    return [
        (test, outcome)
        for test, outcome in failing
        if test.checked_at and judged(then[test.checked_at], test).state == FAILING
    ]


def _ends_logins(change: Change) -> bool:
    """Tell whether a change decides anew when logins end."""
    return any(map(change.changed, _LOGIN_ENDS.get(type(change.instance), ())))


def _differs(test: AccessTest, outcome: Outcome) -> bool:
    return (test.state, test.failures) != (outcome.state, outcome.failures)


def _note(found: _Judged) -> None:
    """Store how tests went, and write what failed and what passes again."""
    now = clock.now()
    # In one statement: nearly all go as they went.
    same = [test.pk for test, outcome in found if not _differs(test, outcome)]
    if same:
        AccessTest.objects.filter(pk__in=same).unaudited_update(checked_at=now)
    for test, outcome in found:
        if not _differs(test, outcome):
            continue
        AccessTest.objects.filter(pk=test.pk).unaudited_update(
            state=outcome.state, failures=outcome.failures, checked_at=now
        )
        if outcome.state == FAILING != test.state:
            _tell(Activity.ACCESS_TEST_FAIL, test, outcome.failures[0]["because"])
        elif (test.state, outcome.state) == (FAILING, PASSING):
            _tell(Activity.ACCESS_TEST_PASS, test)
        test.state, test.failures, test.checked_at = *outcome, now


def _tell(activity: Activity, test: AccessTest, because: str = "") -> None:
    more = {"because": because} if because else {}
    audit_record(
        activity,
        target_id=test.pk,
        target_type="accesstest",
        meta={"name": test.name, **more},
    )
