"""The tables of the streams can be spread over several PostgreSQL servers, by `id`.

An engine that does so, such as Citus, keeps rows of one value of a column together. It can
check what is unique only where that column is a part of it, and looks at no other table.
"""

from typing import Final

import pytest
from django.db import connection

from events.streams.catalogue import STREAMS

DISTRIBUTION: Final = "id"
UNIQUE: Final = """
    SELECT indexrelid::regclass::text, array_agg(attname::text)
      FROM pg_index
      CROSS JOIN LATERAL unnest(indkey[0:indnkeyatts - 1]) AS key
      LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = key
     WHERE indrelid = %s::regclass AND indisunique GROUP BY 1
"""
BEYOND: Final = """
    SELECT conname FROM pg_constraint
     WHERE contype IN ('f', 'x') AND %(table)s::regclass IN (conrelid, confrelid)
    UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = %(table)s::regclass
    UNION ALL SELECT objid::text FROM pg_depend
     WHERE refobjid = %(table)s::regclass AND classid = 'pg_class'::regclass
       AND objid IN (SELECT oid FROM pg_class WHERE relkind = 'S')
"""
"""Foreign keys from and to the table, exclusions, triggers, sequences."""

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.django_db,
    pytest.mark.parametrize("name", STREAMS),
]


def test_whatever_is_unique_holds_the_columns_that_rows_are_spread_by(name: str):
    stream = STREAMS[name]
    with connection.cursor() as cursor:
        cursor.execute(UNIQUE, [stream.table])
        unique = dict(cursor.fetchall())
    assert unique
    for index, columns in unique.items():
        assert {DISTRIBUTION, stream.time_field} <= {*columns}, index


def test_nothing_ties_a_stream_to_other_tables(name: str):
    with connection.cursor() as cursor:
        cursor.execute(BEYOND, {"table": STREAMS[name].table})
        assert cursor.fetchall() == []


def test_every_row_has_the_columns_that_rows_are_spread_by(name: str):
    stream = STREAMS[name]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnotnull AND attnum > 0",
            [stream.table],
        )
        filled = {name for (name,) in cursor.fetchall()}
    assert {DISTRIBUTION, stream.time_field} <= filled
