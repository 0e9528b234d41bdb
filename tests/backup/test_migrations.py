"""Migrations since the oldest version that is kept are safe on a full database."""

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.backup.files import OLD, SCHEMAS, manifest
from tests.backup.keep import sums
from tests.backup.migrationrules import (
    LARGE,
    LOCKS,
    NO_DEFAULT,
    REVERSE,
    STILL_USED,
    objections,
)

AGREED: dict[tuple[str, str], str] = {}
"""Migrations that are refused and safe all the same, and why."""

NARROW = models.TextField(null=True)
INDEX = models.Index(fields=["id"], name="i")
UNIQUE = models.UniqueConstraint(fields=["id"], name="u")


def nothing(apps: object, schema_editor: object) -> None:
    """Do nothing."""


def test_no_migration_is_unsafe():
    graph = MigrationLoader(None).graph
    heads = manifest(OLD)["schema"].items()
    known = {node for head in heads for node in graph.forwards_plan(head)}
    later = graph.nodes.keys() - known - AGREED.keys()
    found = {
        node: sentences
        for node in later
        if (sentences := list(objections(node[0], graph.nodes[node].operations)))
    }
    assert not found


def test_released_migrations_are_never_rewritten():
    """Before a version has its tag, `python -m tests.backup.keep` takes the sums anew."""
    now = sums()
    for kept in SCHEMAS.glob("*.sha256"):
        for line in kept.read_text().splitlines():
            total, path = line.split()
            assert now.get(path) == total, f"{path} is not as {kept.stem} has it"
    assert {path.stem for path in SCHEMAS.glob("*.sha256")} == {
        path.stem for path in SCHEMAS.glob("*.zip")
    }


def test_the_large_tables_exist():
    state = MigrationLoader(None).project_state()
    assert state.models.keys() >= LARGE


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (migrations.RunPython(nothing), REVERSE),
        (migrations.RunSQL("SELECT 1"), REVERSE),
        (migrations.RemoveField("group", "name"), STILL_USED),
        (migrations.RenameField("group", "name", "title"), STILL_USED),
        (migrations.RenameModel("Group", "Crowd"), STILL_USED),
        (migrations.DeleteModel("Group"), STILL_USED),
        (migrations.AddField("group", "n", models.IntegerField()), NO_DEFAULT),
        (migrations.AddField("group", "n", models.IntegerField(default=1)), NO_DEFAULT),
        (
            migrations.AddField(
                "auditevent", "n", models.TextField(null=True, unique=True)
            ),
            LOCKS,
        ),
        (migrations.AlterField("AuditEvent", "target_id", NARROW), LOCKS),
        (migrations.AddIndex("auditevent", INDEX), LOCKS),
        (migrations.AddConstraint("trafficevent", UNIQUE), LOCKS),
        (
            migrations.SeparateDatabaseAndState(
                database_operations=[migrations.AddIndex("proxyentry", INDEX)]
            ),
            LOCKS,
        ),
    ],
)
def test_unsafe_operations_are_refused(operation: Operation, sentence: str):
    [found] = objections("events", [operation])
    assert found.endswith(sentence)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.CreateModel(
            "Later", [("id", models.BigAutoField(primary_key=True))]
        ),
        migrations.RunPython(nothing, migrations.RunPython.noop),
        migrations.AddField("auditevent", "n", models.IntegerField(null=True)),
        migrations.AddField("group", "n", models.IntegerField(db_default=1)),
        migrations.AddField("group", "n", models.ManyToManyField("groups.Group")),
        migrations.AddIndex("group", INDEX),
        migrations.AddConstraint("group", UNIQUE),
        AddIndexConcurrently("auditevent", INDEX),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("group", "name")]
        ),
    ],
)
def test_safe_operations_are_not(operation: Operation):
    assert not list(objections("events", [operation]))
