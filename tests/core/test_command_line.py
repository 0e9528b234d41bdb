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
from typing import Any

import pytest

from meshmgmt.commandline import Commands
from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.runfolder import clean_environ, copy_migrated_database
from tests.servers import own_database

ROWS = 3000
"""More than fits into a pipe that nobody reads."""


def environ(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a command whose data is in a folder."""
    return clean_environ() | {"SVC_DATA_DIR": str(folder), **more}


def written_to(
    output: Any, folder: Path, *words: str, **more: str
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command whose output goes somewhere."""
    command = [sys.executable, str(BASE_DIR / "manage.py"), *words]
    streams = {"stdout": output, "stderr": subprocess.PIPE}
    return subprocess.run(command, env=environ(folder, **more), check=False, **streams)


def managed(
    folder: Path, *words: str, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return ran(sys.executable, "manage.py", *words, env=environ(folder, **more))


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path):
    reading, writing = os.pipe()
    os.close(reading)
    done = written_to(writing, tmp_path, "version")
    os.close(writing)
    assert (done.stderr, done.returncode) == (b"", 128 + signal.SIGPIPE)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["users list", "status"])  # one ends with a status
def test_output_that_a_full_disk_does_not_take_is_said_in_one_sentence(
    words: str, unbuffered: str, tmp_path: Path
):
    copy_migrated_database(tmp_path / "db.sqlite3")
    with Path("/dev/full").open("wb") as full:
        given = {"PYTHONUNBUFFERED": unbuffered}
        done = written_to(full, tmp_path, *words.split(), **given)
    told = b"CommandError: cannot write: No space left on device\n"
    assert (done.stderr, done.returncode) == (told, 2)


def test_messages_name_the_command_as_it_was_called(tmp_path: Path):
    code = (
        "import sys; sys.argv = ['/x/meshmgmt', 'audit', 'verify'];"
        " from meshmgmt.commandline import main; main()"
    )
    done = ran(sys.executable, "-c", code, env=environ(tmp_path))
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
        given = environ(tmp_path / "var", **({"SVC_DATABASE_URL": url} if url else {}))
        told = "\n".join(commands)
        done = ran(sys.executable, "-c", RUN_ALL, input=told, env=given)
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
    done = managed(tmp_path, "reach", "a", "b", **{f"SVC_{setting}": value})
    assert done.returncode == status
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("CommandError: ")
    assert says in sentence


def test_an_argument_that_is_not_utf_8_is_said_in_one_sentence(tmp_path: Path):
    copy_migrated_database(tmp_path / "db.sqlite3")
    done = managed(tmp_path, "reach", "\udcff", "b")
    told = [r"CommandError: this is not UTF-8: '\udcff'"]
    assert (done.returncode, done.stderr.splitlines()) == (2, told)


def test_a_file_that_holds_no_database_is_said_in_one_sentence(tmp_path: Path):
    file = tmp_path / "hostname"
    file.write_text("mesh\n")
    given = {"SVC_DATABASE_URL": f"sqlite:///{file}"}
    done = managed(tmp_path, "users", "list", **given)
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
    command = [sys.executable, "manage.py", "audit", "--since", "2000-01-01"]
    pipes: Any = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    listing = subprocess.Popen(command, cwd=BASE_DIR, env=environ(tmp_path), **pipes)
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
