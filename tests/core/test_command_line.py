"""`manage.py` as a program in a pipe, and when it is stopped."""

import gc
import os
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from meshmgmt.commandline import Commands
from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.runfolder import clean_environ, copy_migrated_database
from tests.servers import own_database

ROWS = 3000
"""More than fits into a pipe that nobody reads."""


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, str(BASE_DIR / "manage.py"), "version"],
        env=os.environ | {"SVC_DATA_DIR": str(tmp_path)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["users list", "status"])  # one ends with a status
def test_output_that_a_full_disk_does_not_take_is_said_in_one_sentence(
    words: str, unbuffered: str, tmp_path: Path
):
    copy_migrated_database(tmp_path / "db.sqlite3")
    given = {"SVC_DATA_DIR": str(tmp_path), "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, str(BASE_DIR / "manage.py"), *words.split()],
            env=clean_environ() | given,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.stderr == b"CommandError: cannot write: No space left on device\n"
    assert done.returncode == 2


def test_messages_name_the_command_as_it_was_called(tmp_path: Path):
    code = (
        "import sys; sys.argv = ['/x/meshmgmt', 'audit', 'verify'];"
        " from meshmgmt.commandline import main; main()"
    )
    environ = clean_environ() | {"SVC_DATA_DIR": str(tmp_path)}
    done = ran(sys.executable, "-c", code, env=environ)
    assert "run meshmgmt migrate" in done.stderr


NEEDS_TABLES = (
    "audit",
    "audit verify",
    "config export",
    "create_token --user you@mesh.dev --role owner",
    "createsuperuser --noinput --email you@mesh.dev",
    "explain peer name",
    "export_zone corp.test",
    "housekeeping --once",
    "import_peers {file}",
    "import_zone {file} --zone corp.test",
    "ingest proxy {file}",
    "lint_dns",
    "netmap peer",
    "proxy_tokens list",
    "prune_events",
    "seed",
    "serve_peers",
    "tokens list",
    "users list",
    "welcome",
)


RUN_ALL = """
import sys
from meshmgmt.commandline import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["manage.py", *line.split()]
    print(f"{line}:", file=sys.stderr)
    try:
        status = main()
    except SystemExit as ended:
        status = ended.code
    print(status, file=sys.stderr)
"""


def test_a_database_without_tables_is_said_in_one_sentence(tmp_path: Path):
    file = tmp_path / "lines"
    file.write_text('{"name": "a"}\n')
    commands = [words.format(file=file) for words in NEEDS_TABLES]
    with own_database() as url:
        named = {"SVC_DATABASE_URL": url} if url else {}
        environ = clean_environ() | {"SVC_DATA_DIR": str(tmp_path / "var")} | named
        told = "\n".join(commands)
        done = ran(sys.executable, "-c", RUN_ALL, input=told, env=environ)
    lines = iter(done.stderr.splitlines())
    for command in commands:
        told, sentence, status = next(lines), next(lines), next(lines)
        assert told == f"{command}:"
        assert sentence.startswith("CommandError: the database is not set up"), told
        assert sentence.endswith("run manage.py migrate"), told
        assert status == "1", told


@pytest.mark.parametrize(
    ("setting", "value", "status", "says"),
    [
        ("DATABASE_URL", "postgresql://u:p@127.0.0.1:1/x", 3, "cannot be used: conn"),
        ("LOG_FILE", "/", 2, "log output '/' is not writable"),
        ("DATA_DIR", "/proc/x", 2, "SVC_DATA_DIR: cannot use '/proc/x': No such file"),
    ],
)
def test_what_an_operator_can_mend_is_said_in_one_sentence(
    setting: str, value: str, status: int, says: str, tmp_path: Path
):
    environ = clean_environ() | {"SVC_DATA_DIR": str(tmp_path), f"SVC_{setting}": value}
    done = ran(
        *(sys.executable, "manage.py", "reach", "a", "b"), env=environ, cwd=BASE_DIR
    )
    assert done.returncode == status
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("CommandError: ")
    assert says in sentence


def test_an_argument_that_is_not_utf_8_is_said_in_one_sentence(tmp_path: Path):
    environ = clean_environ() | {"SVC_DATA_DIR": str(tmp_path)}
    ran(sys.executable, "manage.py", "migrate", env=environ, cwd=BASE_DIR)
    command = (sys.executable, "manage.py", "reach", "\udcff", "b")
    done = ran(*command, env=environ, cwd=BASE_DIR)
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [r"CommandError: this is not UTF-8: '\udcff'"],
    )


def test_a_file_that_holds_no_database_is_said_in_one_sentence(tmp_path: Path):
    file = tmp_path / "hostname"
    file.write_text("mesh\n")
    given = {"SVC_DATA_DIR": str(tmp_path), "SVC_DATABASE_URL": f"sqlite:///{file}"}
    environ = clean_environ() | given
    done = ran(
        *(sys.executable, "manage.py", "users", "list"), env=environ, cwd=BASE_DIR
    )
    said = "CommandError: the database cannot be used: file is not a database\n"
    assert (done.returncode, done.stderr) == (3, said)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let programs take SIGINT, which shells ignore for what runs in the background."""
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, earlier)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_listing_ends_quietly(tmp_path: Path):
    database = tmp_path / "db.sqlite3"
    copy_migrated_database(database)
    with sqlite3.connect(database) as connection:
        connection.executemany(
            "INSERT INTO events_auditevent (timestamp, activity_code, initiator_id,"
            " initiator_name, initiator_email, target_id, target_type, meta, changes,"
            " request_id, source_address, token_id, search)"
            " VALUES ('2026-01-01 00:00:00', 'group.add', '', '', '', ?, '', '{}',"
            " '{}', '', '', '', '')",
            ((str(number),) for number in range(ROWS)),
        )
    listing = subprocess.Popen(
        [sys.executable, str(BASE_DIR / "manage.py"), "audit", "--since", "2000-01-01"],
        env=clean_environ() | {"SVC_DATA_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing.stdout is not None
    assert select.select([listing.stdout], [], [], 60)[0], "it printed nothing"
    listing.send_signal(signal.SIGINT)
    printed, complaints = listing.communicate(timeout=60)
    assert complaints == b""
    assert listing.returncode == 128 + signal.SIGINT
    assert 0 < printed.count(b"\n") < ROWS


def test_a_command_checks_no_code_and_begins_with_the_collector_on():
    commands = Commands(["manage.py", "users"])
    assert not gc.isenabled()
    command = commands.fetch_command("users")
    gc.unfreeze()  # the rest of this process is no program that was loaded
    assert gc.isenabled()
    parser = command.create_parser("manage.py", "users")
    for asked in ([], ["--skip-checks"]):  # scripts may say what holds anyway
        assert parser.parse_args([*asked, "list"]).skip_checks
