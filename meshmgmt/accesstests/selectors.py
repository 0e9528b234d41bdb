"""What is shown of access tests."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count

from events.activities import Activity
from events.audit.reading import last_id_at
from events.models import AuditEvent
from meshmgmt.accesstests.models import EMPTY, FAILING, PASSING, STATE, AccessTest
from meshmgmt.accesstests.rules import DNS, REACH, VALUES
from meshmgmt.accesstests.services import ENDS, MODELS
from meshmgmt.accesstests.standing import outcomes
from meshmgmt.core.history import is_past, shown_moment
from meshmgmt.core.queries import batches, narrowed
from meshmgmt.core.resources import Row, columns
from meshmgmt.explain.lint.finding import Finding
from meshmgmt.mesh.reasons import Subject


def access_test_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return tests, in the order of creation."""
    found = narrowed(AccessTest.objects.order_by("id"), ids)
    rows: list[Row] = list(found.values("id", *columns(AccessTest), *STATE))
    # How a test went is not kept: it is judged in the account of then.
    if is_past():
        judged = {test.pk: outcome for test, outcome in outcomes(found)}
        for row in rows:
            row.update(judged[row["id"]]._asdict(), checked_at=shown_moment())
    lost = {row["id"]: _lost(row) for row in rows if row["state"] == EMPTY}
    emptied = _emptied_by({pk: ends for pk, ends in lost.items() if ends})
    for row in rows:
        row |= {end: _end(row, end) for end in ENDS}
        row["emptied_by"] = emptied.get(row["id"], "")
    return rows


def _end(row: Row, end: str) -> dict[str, str]:
    kind, ref = row.pop(f"{end}_kind"), row.pop(f"{end}_ref")
    return {"kind": kind, "value" if kind in VALUES else "id": ref}


def in_words(tests: Iterable[AccessTest]) -> dict[str, str]:
    """Return by id what tests expect: `Laptops never reach Databases, tcp 5432`.

    One query for each kind of what they name.
    """
    tests = list(tests)
    named = defaultdict(set)
    for kind, ref in (end for test in tests for end in test.ends):
        named[kind].add(ref)
    names = {
        (kind, found.pk): str(found)
        for kind, refs in named.items()
        if kind not in VALUES
        for part in batches(sorted(refs))
        for found in MODELS[kind]._default_manager.filter(pk__in=part)
    }
    return {test.pk: _sentence(test, names) for test in tests}


def _sentence(test: AccessTest, names: Mapping[tuple[str, str], str]) -> str:
    source, target = (
        ref if kind in VALUES else names.get((kind, ref), f"a deleted {kind}")
        for kind, ref in test.ends
    )
    verb = "always" if test.expect == REACH else "never"
    if test.kind == DNS:
        contents = f" to {', '.join(test.contents)}" if test.contents else ""
        return f"{source} {verb} resolve {target} ({test.record_type}){contents}"
    port = f" {test.port}" if test.port else ""
    return f"{source} {verb} reach {target}, {test.protocol}{port}"


def states() -> dict[str, str]:
    """Return the state of each test by its id."""
    return dict(AccessTest.objects.values_list("pk", "state"))


def states_changed(before: Mapping[str, str]) -> list[Row]:
    """Return the tests whose state is another than before, or that are new."""
    rows = AccessTest.objects.order_by("id").values_list(
        "pk", "name", "enforce", "state", "failures"
    )
    return [
        {
            "id": pk,
            "name": name,
            "enforce": enforce,
            "before": before.get(pk, ""),
            "after": state,
            "failures": failures,
        }
        for pk, name, enforce, state, failures in rows
        if before.get(pk) != state
    ]


def findings() -> Iterator[Finding]:
    """Yield a finding for each test that fails."""
    failing = AccessTest.objects.filter(enabled=True, state=FAILING).order_by("id")
    words = in_words(failing)
    for test in failing:
        because = test.failures[0]["because"]
        text = f"access test {test.name} fails: {words[test.pk]}; {because}"
        about = Subject("access_test", test.pk, test.name)
        yield Finding("access_test_failing", about, text)


def counts() -> dict[tuple[str, ...], float]:
    """Return the number of enabled tests by state and whether they are enforced."""
    found: dict[tuple[str, ...], float] = {
        (state, enforced): 0.0
        for state in (PASSING, FAILING, EMPTY)
        for enforced in ("true", "false")
    }
    rows = AccessTest.objects.filter(enabled=True).values_list("state", "enforce")
    for state, enforce, number in rows.order_by().annotate(number=Count("pk")):
        found[state, str(enforce).lower()] = float(number)
    return found


def _lost(row: Mapping[str, Any]) -> list[str]:
    """The ends that name nothing."""
    return [f"{end}_ref" for end in ENDS if not row[f"{end}_ref"]]


def _emptied_by(lost: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The event in which each test, by id, lost one of the ends that it is without."""
    if not lost:
        return {}
    told = AuditEvent.objects.filter(
        activity_code=Activity.ACCESS_TEST_UPDATE, target_id__in=lost
    )
    if is_past():
        told = told.filter(id__lte=last_id_at(shown_moment()) or 0)
    found: dict[str, str] = {}
    for pk, target, changes in told.order_by("id").values_list(
        "id", "target_id", "changes"
    ):
        if any(changes.get(end, {}).get("after") == "" for end in lost[target]):
            found[target] = str(pk)
    return found
