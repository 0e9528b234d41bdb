"""Outputs: shared files, rotation, a full disk, syslog."""

import grp
import json
import logging
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from meshmgmt.core import context
from meshmgmt.env import BASE_DIR
from observability.logs import outputs
from observability.logs.formats import JsonFormatter
from observability.logs.outputs import Background
from observability.metrics import instruments
from tests.observability.disks import room_for

WRITER = """
import logging, sys
from pathlib import Path
from observability.logs import outputs
handler = getattr(outputs, sys.argv[4])(Path(sys.argv[1]))
handler.look_every = 0
handler.limit = 20_000
log = logging.getLogger("w"); log.addHandler(handler); log.setLevel("INFO")
for n in range(int(sys.argv[3])):
    log.info("%s-%04d %s", sys.argv[2], n, "x" * 100)
"""

CONFIGURATION = BASE_DIR / "deploy" / "logrotate" / "meshmgmt"


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("test", logging.INFO, "f", 1, message, (), None)


@pytest.fixture
def output(tmp_path: Path) -> Iterator[outputs.LogFile]:
    handler = outputs.LogFile(tmp_path / "logs" / "app.log")
    handler.setFormatter(JsonFormatter())
    handler.look_every = 0
    yield handler
    handler.close()


def writing(path: Path, kind: str) -> "list[subprocess.Popen[bytes]]":
    """Start three processes that write 500 lines each to one file."""
    return [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, "500", kind])
        for name in ("a", "b", "c")
    ]


def written(folder: Path) -> list[str]:
    """Return the lines of all log files in a folder, none of which may be torn."""
    lines = [
        line
        for file in folder.glob("app.log*")
        for line in file.read_text().splitlines()
    ]
    assert all(re.fullmatch(r"[abc]-\d{4} x{100}", line) for line in lines)
    return lines


def test_several_processes_lose_no_line_while_a_file_is_renamed(tmp_path: Path):
    path = tmp_path / "app.log"
    writers = writing(path, "LogFile")
    for number in count():
        if all(writer.poll() is not None for writer in writers):
            break
        if path.exists() and path.stat().st_size > 20_000:
            path.rename(tmp_path / f"app.log.{number}")
        time.sleep(0.001)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    lines = written(tmp_path)
    assert len({line.split()[0] for line in lines}) == len(lines) == 1500
    assert len(list(tmp_path.glob("app.log.*"))) > 1


def test_recent_records_are_kept_by_several_processes_and_no_more(tmp_path: Path):
    path = tmp_path / "app.log"
    assert [writer.wait(60) for writer in writing(path, "Spool")] == [0, 0, 0]
    lines = written(tmp_path)
    assert len({line.split()[0] for line in lines}) == len(lines)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["app.log", "app.log.1", "app.log.lock"]
    assert 20_000 < sum(file.stat().st_size for file in tmp_path.iterdir()) < 41_000


def rotate(folder: Path, configuration: str) -> None:
    """Rotate once: by logrotate where it is installed, as the configuration says.

    Elsewhere by what that comes to: a new name, without a signal.
    """
    program = shutil.which("logrotate", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        (folder / "app.log").rename(folder / "app.log.1")
        return
    file, state = folder / "logrotate.conf", folder / "logrotate.state"
    file.write_text(configuration)
    file.chmod(0o600)
    subprocess.run([program, "--force", "--state", state, file], check=True, timeout=60)


def test_the_shipped_logrotate_file_loses_no_line(output: outputs.LogFile):
    folder = output.path.parent
    text = CONFIGURATION.read_text(encoding="utf-8")
    assert "copytruncate" not in text  # which loses what is written meanwhile
    mine = f"su {pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name}"
    here = re.sub(r"^\s*su .*$", mine, text, flags=re.MULTILINE)
    output.emit(record("before"))
    rotate(folder, here.replace("/var/log/meshmgmt", str(folder)))
    output.emit(record("after"))
    assert "before" in (folder / "app.log.1").read_text()
    assert "after" in output.path.read_text()


def test_external_rotation_is_followed(output: outputs.LogFile):
    output.emit(record("before"))
    moved = output.path.rename(output.path.with_name("moved"))
    output.emit(record("after"))
    assert "before" in moved.read_text()
    assert "after" in output.path.read_text()
    output.path.unlink()
    output.emit(record("again"))
    assert "again" in output.path.read_text()


def test_a_full_disk_is_counted_and_said_once(capsys: pytest.CaptureFixture[str]):
    lost = instruments.counter("mesh.log.write.errors.total")
    before = lost._value.get()
    handler = outputs.LogFile(Path("/dev/full"))
    try:
        for _ in range(3):
            handler.emit(record("x"))
    finally:
        handler.close()
    assert lost._value.get() == before + 3
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_what_a_full_disk_took_a_part_of_is_lost_and_mixes_with_no_other(
    tmp_path: Path,
):
    lost = instruments.counter("mesh.log.write.errors.total")
    before, handler = lost._value.get(), outputs.LogFile(tmp_path / "app.log")
    handler.emit(record("first"))
    handler.flush()
    with room_for(handler.path.stat().st_size + 20):
        handler.emit(record("half of it " * 10))
        handler.emit(record("nothing of it"))
    handler.emit(record("whole"))
    handler.close()
    lines = handler.path.read_text().splitlines()
    assert [lines[0], lines[-1]] == ["first", "whole"]
    assert len(lines) == 3
    assert lost._value.get() == before + 2


def test_a_part_that_one_process_left_mixes_with_no_record_of_another(tmp_path: Path):
    one, other = (outputs.LogFile(tmp_path / "app.log") for _ in range(2))
    with room_for(20):
        one.emit(record("half of it " * 10))
        other.emit(record("nothing of it"))
    for handler, text in ((other, "whole of the other"), (one, "whole of the one")):
        handler.emit(record(text))
        handler.close()
    lines = one.path.read_text().split("\n")
    assert {"whole of the other", "whole of the one"} <= set(lines)


@pytest.mark.parametrize("target", ["/proc/nowhere/app.log", "/dev"])
def test_an_unusable_path_is_refused_by_name(target: str):
    with pytest.raises(outputs.OutputError, match=re.escape(repr(target))) as caught:
        outputs.open_output(target, syslog_address="/dev/log")
    assert "console, stdout, syslog" in str(caught.value)


def test_console_and_service_are_standard_error():
    for target in ("console", "service"):
        handler = outputs.open_output(target, syslog_address="")
        assert isinstance(handler, logging.StreamHandler)
        assert handler.stream is sys.stderr


def test_syslog_gets_each_record_with_its_severity(tmp_path: Path):
    address = str(tmp_path / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(5)
        handler = outputs.open_output("syslog", syslog_address=address)
        handler.setFormatter(JsonFormatter())
        received = []
        for level in (5, logging.INFO, logging.ERROR, 60):
            made = logging.getLogger("t").makeRecord("t", level, "f", 1, "m", (), None)
            handler.emit(made)
            received.append(receiver.recv(65536).decode())
        handler.close()
    # <facility daemon (3) * 8 + severity>
    assert [line.split(">")[0] for line in received] == ["<31", "<30", "<27", "<25"]
    head, _, body = received[1].partition("meshmgmt: ")
    assert head == "<30>"
    assert json.loads(body)["msg"] == "m"


def test_syslog_over_udp(tmp_path: Path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        port = receiver.getsockname()[1]
        handler = outputs.open_output("syslog", syslog_address=f"127.0.0.1:{port}")
        handler.emit(record("over udp"))
        assert receiver.recv(65536).endswith(b"over udp")
        handler.close()


def test_a_missing_syslog_daemon_is_refused(tmp_path: Path):
    with pytest.raises(outputs.OutputError, match="no syslog daemon at"):
        outputs.open_output("syslog", syslog_address=str(tmp_path / "absent"))


def test_log_files_are_not_readable_by_everybody(output: outputs.LogFile):
    assert os.stat(output.path).st_mode & 0o007 == 0  # noqa: PTH116 - the mode is the point


def test_closing_twice_closes_nobody_elses_file(output: outputs.LogFile):
    assert output.stream is not None
    number = output.stream.fileno()
    output.close()
    with open(os.devnull) as other:  # noqa: PTH123 - takes the lowest free number
        assert other.fileno() == number
        output.close()
        assert os.fstat(number)
        output.emit(record("written all the same"))
    assert "written all the same" in output.path.read_text()


def test_a_writing_thread_keeps_order_and_writes_warnings_at_once(
    output: outputs.LogFile,
):
    background = Background([output])
    for number in range(500):
        background.handle(record(f"line {number}"))
    urgent = record("urgent")
    urgent.levelno = logging.WARNING
    background.handle(urgent)
    found = [json.loads(line)["msg"] for line in output.path.read_text().splitlines()]
    assert found == [*(f"line {number}" for number in range(500)), "urgent"]
    background.handle(record("the last words"))
    background.close()
    assert "the last words" in output.path.read_text()


def test_a_record_carries_the_request_it_was_made_in(output: outputs.LogFile):
    background = Background([output])
    with context.scope(request_id="r1"):
        background.handle(record("inside"))
    background.close()
    assert json.loads(output.path.read_text())["request_id"] == "r1"


def test_a_record_that_makes_no_line_is_counted_and_told_of_without_it(
    output: outputs.LogFile, capsys: pytest.CaptureFixture[str]
):
    background = Background([output])
    lost = instruments.counter("mesh.log.write.errors.total")
    before = lost._value.get()
    made = record("secret")
    vars(made)["number"] = 2**64
    background.handle(made)
    background.close()
    assert lost._value.get() == before + 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"log output {output.path}: ")
    assert "secret" not in line
