"""Tables of the two big event streams.

PostgreSQL: partitioned by day, no DEFAULT partition (ingest and housekeeping create the
days). SQLite: plain tables with an integer key of their own, which the full-text index
refers to (an implicit rowid would change under VACUUM), and FTS5 trigram tables kept in
step by triggers, where the SQLite library has them.
"""

import sqlite3

from django.db import migrations, models

NARROW = "protocol, direction, connection_type, kinds"

TRAFFIC_PG = [
    """
    CREATE TABLE events_trafficevent (
        time timestamptz NOT NULL,
        id text COLLATE "C" NOT NULL,
        reporter_id text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        source_id text COLLATE "C" NOT NULL,
        destination_id text COLLATE "C" NOT NULL,
        policy_id text COLLATE "C" NOT NULL,
        source_address text COLLATE "C" NOT NULL,
        destination_address text COLLATE "C" NOT NULL,
        protocol smallint NOT NULL,
        direction smallint NOT NULL,
        connection_type smallint NOT NULL,
        kinds smallint NOT NULL,
        rx_bytes bigint NOT NULL,
        tx_bytes bigint NOT NULL,
        flows bigint NOT NULL,
        drops bigint NOT NULL,
        search text COLLATE "C" NOT NULL,
        body text COLLATE "C" NOT NULL,
        CONSTRAINT traffic_identity PRIMARY KEY (time, id)
            INCLUDE (protocol, direction, connection_type, kinds)
    ) PARTITION BY RANGE (time)
    """,
    "CREATE INDEX traffic_id ON events_trafficevent (id)",
    *(
        f"CREATE INDEX traffic_{name} ON events_trafficevent ({name}_id, time, id)"
        f" INCLUDE ({NARROW})"
        for name in ("user", "reporter", "source", "destination")
    ),
    "CREATE INDEX traffic_search ON events_trafficevent USING gin (search gin_trgm_ops)",
]

PROXY_PG = [
    """
    CREATE TABLE events_proxyentry (
        timestamp timestamptz NOT NULL,
        id text COLLATE "C" NOT NULL,
        service_id text COLLATE "C" NOT NULL,
        host text COLLATE "C" NOT NULL,
        path text COLLATE "C" NOT NULL,
        method text COLLATE "C" NOT NULL,
        status_code smallint NOT NULL,
        duration_ms integer NOT NULL,
        source_ip text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        auth_method_used text COLLATE "C" NOT NULL,
        reason text COLLATE "C" NOT NULL,
        bytes_upload bigint NOT NULL,
        bytes_download bigint NOT NULL,
        country_code text COLLATE "C" NOT NULL,
        search text COLLATE "C" NOT NULL,
        body text COLLATE "C" NOT NULL,
        CONSTRAINT proxy_identity PRIMARY KEY (timestamp, id)
            INCLUDE (status_code, method)
    ) PARTITION BY RANGE (timestamp)
    """,
    "CREATE INDEX proxy_id ON events_proxyentry (id)",
    *(
        f"CREATE INDEX proxy_{name} ON events_proxyentry ({name}, timestamp, id)"
        " INCLUDE (status_code, method)"
        for name in ("host", "source_ip", "user_id")
    ),
    "CREATE INDEX proxy_status ON events_proxyentry (status_code, timestamp, id)",
    "CREATE INDEX proxy_search ON events_proxyentry USING gin (search gin_trgm_ops)",
]

TRAFFIC_SQLITE = [
    """
    CREATE TABLE events_trafficevent (
        n integer PRIMARY KEY,
        time datetime NOT NULL,
        id text NOT NULL UNIQUE,
        reporter_id text NOT NULL,
        user_id text NOT NULL,
        source_id text NOT NULL,
        destination_id text NOT NULL,
        policy_id text NOT NULL,
        source_address text NOT NULL,
        destination_address text NOT NULL,
        protocol smallint NOT NULL,
        direction smallint NOT NULL,
        connection_type smallint NOT NULL,
        kinds smallint NOT NULL,
        rx_bytes bigint NOT NULL,
        tx_bytes bigint NOT NULL,
        flows bigint NOT NULL,
        drops bigint NOT NULL,
        search text NOT NULL,
        body text NOT NULL
    )
    """,
    f"CREATE INDEX traffic_time ON events_trafficevent (time, id, {NARROW})",
    *(
        f"CREATE INDEX traffic_{name} ON events_trafficevent"
        f" ({name}_id, time, id, {NARROW})"
        for name in ("user", "reporter", "source", "destination")
    ),
]

PROXY_SQLITE = [
    """
    CREATE TABLE events_proxyentry (
        n integer PRIMARY KEY,
        timestamp datetime NOT NULL,
        id text NOT NULL UNIQUE,
        service_id text NOT NULL,
        host text NOT NULL,
        path text NOT NULL,
        method text NOT NULL,
        status_code smallint NOT NULL,
        duration_ms integer NOT NULL,
        source_ip text NOT NULL,
        user_id text NOT NULL,
        auth_method_used text NOT NULL,
        reason text NOT NULL,
        bytes_upload bigint NOT NULL,
        bytes_download bigint NOT NULL,
        country_code text NOT NULL,
        search text NOT NULL,
        body text NOT NULL
    )
    """,
    "CREATE INDEX proxy_time ON events_proxyentry (timestamp, id, status_code, method)",
    *(
        f"CREATE INDEX proxy_{name} ON events_proxyentry"
        f" ({name}, timestamp, id, status_code, method)"
        for name in ("host", "source_ip", "user_id")
    ),
    "CREATE INDEX proxy_status ON events_proxyentry (status_code, timestamp, id)",
]


def full_text(table, key="n"):
    """Return the statements that index `table.search` by trigrams on SQLite."""
    index = f"{table}_fts"
    return [
        f"CREATE VIRTUAL TABLE {index} USING fts5(search, content='{table}',"
        f" content_rowid='{key}', tokenize='trigram case_sensitive 1')",
        f"CREATE TRIGGER {index}_insert AFTER INSERT ON {table} BEGIN"
        f" INSERT INTO {index}(rowid, search) VALUES (new.{key}, new.search); END",
        f"CREATE TRIGGER {index}_delete AFTER DELETE ON {table} BEGIN"
        f" INSERT INTO {index}({index}, rowid, search)"
        f" VALUES ('delete', old.{key}, old.search); END",
    ]


def has_trigrams():
    """Tell whether this SQLite library has FTS5 with the trigram tokenizer (3.34)."""
    with sqlite3.connect(":memory:") as probe:
        try:
            probe.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
        except sqlite3.OperationalError:
            return False
    return True


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        statements = [
            "CREATE EXTENSION IF NOT EXISTS pg_trgm",
            *TRAFFIC_PG,
            *PROXY_PG,
        ]
    else:
        statements = [*TRAFFIC_SQLITE, *PROXY_SQLITE]
        if has_trigrams():
            statements += full_text("events_trafficevent")
            statements += full_text("events_proxyentry")
    for statement in statements:
        schema_editor.execute(statement, params=None)


def drop(apps, schema_editor):
    for table in ("events_trafficevent", "events_proxyentry"):
        if schema_editor.connection.vendor == "sqlite":
            schema_editor.execute(f"DROP TABLE IF EXISTS {table}_fts")
        schema_editor.execute(f"DROP TABLE {table}")


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0001_audit'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create, drop)],
            state_operations=[
                migrations.CreateModel(
                    name='ProxyEntry',
                    fields=[
                        ('id', models.TextField(primary_key=True, serialize=False)),
                        ('timestamp', models.DateTimeField()),
                        ('service_id', models.TextField()),
                        ('host', models.TextField()),
                        ('path', models.TextField()),
                        ('method', models.TextField()),
                        ('status_code', models.SmallIntegerField(verbose_name='status')),
                        ('duration_ms', models.IntegerField(verbose_name='duration (ms)')),
                        ('source_ip', models.TextField(verbose_name='source address')),
                        ('user_id', models.TextField()),
                        ('auth_method_used', models.TextField()),
                        ('reason', models.TextField()),
                        ('bytes_upload', models.BigIntegerField()),
                        ('bytes_download', models.BigIntegerField()),
                        ('country_code', models.TextField()),
                        ('search', models.TextField()),
                        ('body', models.TextField()),
                    ],
                    options={
                        'verbose_name': 'proxy access log entry',
                        'verbose_name_plural': 'proxy access log entries',
                        'ordering': ['-timestamp', '-id'],
                        'abstract': False,
                        'managed': True,
                        'default_permissions': ('view',),
                    },
                ),
                migrations.CreateModel(
                    name='TrafficEvent',
                    fields=[
                        ('id', models.TextField(primary_key=True, serialize=False)),
                        ('time', models.DateTimeField(verbose_name='time')),
                        ('reporter_id', models.TextField()),
                        ('user_id', models.TextField()),
                        ('source_id', models.TextField()),
                        ('destination_id', models.TextField()),
                        ('policy_id', models.TextField()),
                        ('source_address', models.TextField()),
                        ('destination_address', models.TextField()),
                        ('protocol', models.SmallIntegerField(choices=[(1, 'ICMP'), (6, 'TCP'), (17, 'UDP')])),
                        ('direction', models.SmallIntegerField(choices=[(0, 'DIRECTION_UNKNOWN'), (1, 'INGRESS'), (2, 'EGRESS')])),
                        ('connection_type', models.SmallIntegerField(choices=[(0, 'P2P'), (1, 'ROUTED')])),
                        ('kinds', models.SmallIntegerField(help_text='bits of the event types, 1 = unknown')),
                        ('rx_bytes', models.BigIntegerField(verbose_name='received bytes')),
                        ('tx_bytes', models.BigIntegerField(verbose_name='sent bytes')),
                        ('flows', models.BigIntegerField()),
                        ('drops', models.BigIntegerField()),
                        ('search', models.TextField()),
                        ('body', models.TextField()),
                    ],
                    options={
                        'verbose_name': 'network traffic event',
                        'ordering': ['-time', '-id'],
                        'abstract': False,
                        'managed': True,
                        'default_permissions': ('view',),
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name='ProxyTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('method', models.CharField(max_length=16)),
                ('status_code', models.SmallIntegerField()),
                ('rows', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('day', 'method', 'status_code'), name='proxy_tally_key')],
            },
        ),
        migrations.CreateModel(
            name='TrafficTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('protocol', models.SmallIntegerField()),
                ('direction', models.SmallIntegerField()),
                ('connection_type', models.SmallIntegerField()),
                ('kinds', models.SmallIntegerField()),
                ('rows', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('day', 'protocol', 'direction', 'connection_type', 'kinds'), name='traffic_tally_key')],
            },
        ),
    ]
