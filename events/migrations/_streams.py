"""Tables of the two big event streams, which Django's operations cannot make.

PostgreSQL: partitioned by day, no DEFAULT partition (ingest and housekeeping create the
days). SQLite: plain tables with an integer key of their own, which the full-text index
refers to (an implicit rowid would change under VACUUM).

`n` grows in the order of commits: batches take the lock of their stream before they
insert. On PostgreSQL it begins with the time in microseconds, so that numbers of a database
that is put back elsewhere are below those given from then on.
"""

from events.migrations import _search


def arrival_numbers(sequence):
    return [
        f"CREATE SEQUENCE {sequence}",
        f"SELECT setval('{sequence}', (extract(epoch FROM clock_timestamp()) * 1e6)::bigint)",
    ]


NARROW = "protocol, direction, connection_type, kinds"

TRAFFIC_PG = [
    *arrival_numbers("traffic_arrival_n"),
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
        n bigint DEFAULT nextval('traffic_arrival_n'),
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
    "CREATE INDEX traffic_arrival ON events_trafficevent (n)",
]

PROXY_PG = [
    *arrival_numbers("proxy_arrival_n"),
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
        n bigint DEFAULT nextval('proxy_arrival_n'),
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
    "CREATE INDEX proxy_arrival ON events_proxyentry (n)",
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


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        statements = [*_search.EXTENSION, *TRAFFIC_PG, *PROXY_PG]
    else:
        statements = [
            *TRAFFIC_SQLITE,
            *PROXY_SQLITE,
            *_search.full_text("events_trafficevent", key="n"),
            *_search.full_text("events_proxyentry", key="n"),
        ]
    for statement in statements:
        schema_editor.execute(statement, params=None)


def drop(apps, schema_editor):
    for table, sequence in (
        ("events_trafficevent", "traffic_arrival_n"),
        ("events_proxyentry", "proxy_arrival_n"),
    ):
        if schema_editor.connection.vendor == "sqlite":
            schema_editor.execute(f"DROP TABLE IF EXISTS {table}_fts")
        schema_editor.execute(f"DROP TABLE {table}")
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP SEQUENCE {sequence}")


def suit_roll_ups(apps, schema_editor):
    """Compare keys as the streams do; leave room in pages, for sums of a running day grow."""
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in ("events_trafficrollup", "events_proxyrollup"):
        schema_editor.execute(f'ALTER TABLE {table} ALTER COLUMN key TYPE text COLLATE "C"')
        schema_editor.execute(f"ALTER TABLE {table} SET (fillfactor = 80)")
