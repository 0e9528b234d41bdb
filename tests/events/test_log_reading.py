"""Logs are read whole and once, whatever rotates them."""

import gzip
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from events.tailing import following, lines
from events.tailing.checkpoint import Checkpoint
from events.tailing.following import Reading
from events.tailing.lines import Line, Mark, Splitter
from events.tailing.sources import SourceFault

Step = Callable[[], Any]
real_sleep = time.sleep


@dataclass
class Run:
    """One run over a log: what it read and what it said."""

    path: Path
    start: Mark | None = None
    follow: bool = False
    hold: bool = True
    script: Iterable[Step] = ()
    last: int = -1
    read: list[bytes] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    mark: Mark = field(default_factory=Mark)
    done: bool = False

    def __post_init__(self) -> None:
        """Run; the steps of the script happen while the run waits for more."""
        steps = iter(self.script)

        def wait(seconds: float) -> None:
            step = next(steps, None)
            if step is None or b"line %d " % self.last in b"".join(self.read):
                self.done = True
            else:
                step()

        reading = Reading(
            self.path,
            self.start,
            follow=self.follow,
            hold=self.hold,
            stopped=lambda: self.done,
            say=self.said.append,
            again=lambda: self.again.append(len(self.read)),
        )
        original, following.time.sleep = following.time.sleep, wait  # type: ignore[attr-defined]
        try:
            reading.open()
            for item in reading:
                if isinstance(item, Line):
                    self.read.append(item.text)
            self.mark = reading.mark
        finally:
            following.time.sleep = original  # type: ignore[attr-defined]
            reading.close()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a log; nobody writes to its old files any more."""
    monkeypatch.setattr(following, "GRACE_SECONDS", 0)
    return tmp_path / "log"


def numbered(*numbers: int) -> bytes:
    """Return lines as long as those of a real log."""
    return b"".join(b"line %d %s\n" % (n, b"x" * 100) for n in numbers)


def numbers(run: Run) -> list[int]:
    """Return the numbers of the lines that were read."""
    return [int(line.split()[1]) for line in run.read]


def append(path: Path, text: bytes) -> None:
    """Write to the end of a file, as proxies do."""
    with path.open("ab") as file:
        file.write(text)


def rotate(log: Path, name: str = "log.1") -> Path:
    """Rename the log, its older files as well."""
    old = log.with_name(name)
    if old.exists():
        base, number = name.rsplit(".", 1)
        rotate_older = old.with_name(f"{base}.{int(number) + 1}")
        old.rename(rotate_older)
    log.rename(old)
    return old


def copy_and_cut(log: Path) -> None:
    """Rotate as logrotate's copytruncate does."""
    log.with_name("log.1").write_bytes(log.read_bytes())
    os.truncate(log, 0)


def test_a_followed_log_may_grow_rotate_and_be_cut(log: Path) -> None:
    log.write_bytes(b"one\ntw")
    run = Run(
        log,
        follow=True,
        script=[
            lambda: append(log, b"o\nthree\nunfinish"),
            lambda: append(log, b"ed\nlast without end"),
            lambda: rotate(log),
            lambda: log.write_bytes(b"new\n"),
            lambda: log.write_bytes(b""),
            lambda: append(log, b"cut\n"),
            lambda: None,
        ],
    )
    expected = b"one two three unfinished last_without_end new cut"
    assert run.read == [word.replace(b"_", b" ") for word in expected.split()]
    assert run.again == []


def test_lines_written_to_the_old_file_after_rotation_are_read(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "GRACE_SECONDS", 0.05)
    log.write_bytes(numbered(1))
    old = log.open("ab", buffering=0)

    def rename() -> None:
        rotate(log)
        log.write_bytes(numbered(9))

    late = [lambda n=n: old.write(numbered(n)) for n in range(2, 9)]
    # Then nothing happens for as long as it takes.
    rest = [lambda: real_sleep(0.01)] * 500
    run = Run(log, follow=True, script=[rename, *late, *rest], last=9)
    old.close()
    assert numbers(run) == list(range(1, 10))


def test_several_rotations_between_two_looks_lose_nothing(log: Path) -> None:
    log.write_bytes(numbered(0))

    def rotate_three_times() -> None:
        for number in (1, 2, 3):
            append(log, numbered(10 + number))
            rotate(log)
            log.write_bytes(numbered(20 + number))

    run = Run(log, follow=True, script=[rotate_three_times, *[lambda: None] * 5])
    assert numbers(run) == [0, 11, 21, 12, 22, 13, 23]


def test_a_replacement_by_a_copy_is_the_same_log(log: Path, tmp_path: Path) -> None:
    log.write_bytes(numbered(1, 2))

    def replace() -> None:
        (tmp_path / "copy").write_bytes(log.read_bytes() + numbered(3))
        (tmp_path / "copy").rename(log)

    run = Run(log, follow=True, script=[replace, lambda: None, lambda: None])
    assert numbers(run) == [1, 2, 3]


def test_the_copy_of_a_truncated_log_is_read_to_its_end(log: Path) -> None:
    log.write_bytes(numbered(1))

    def cut() -> None:
        append(log, numbered(2))
        copy_and_cut(log)
        append(log, numbered(3, 4, 5))

    run = Run(log, follow=True, script=[cut, lambda: None, lambda: None])
    assert numbers(run) == [1, 2, 3, 4, 5]


def test_a_run_goes_on_where_the_one_before_stopped(log: Path) -> None:
    log.write_bytes(numbered(1, 2))
    first = Run(log)
    append(log, numbered(3))
    second = Run(log, first.mark)
    assert (numbers(second), second.said, second.mark.number) == ([3], [], 3)
    assert Run(log, second.mark).read == []


def test_an_unfinished_last_line_waits_for_the_next_run(log: Path) -> None:
    log.write_bytes(numbered(1) + b"line 2 ha")
    assert numbers(Run(log, hold=False)) == [1, 2]
    first = Run(log)
    append(log, b"lf\n")
    second = Run(log, first.mark)
    assert (numbers(first), second.read) == ([1], [b"line 2 half"])


@pytest.mark.parametrize("pack", [None, gzip.compress, zstandard.compress])
def test_the_rest_of_a_log_rotated_between_runs_is_read_first(
    log: Path, pack: Callable[[bytes], bytes] | None
) -> None:
    log.write_bytes(numbered(1, 2))
    first = Run(log)
    append(log, numbered(3))
    rotate(log)
    log.write_bytes(numbered(4))
    rotate(log)
    log.write_bytes(numbered(5))
    if pack is not None:
        old = log.with_name("log.2")
        name = "log.2.gz" if pack is gzip.compress else "log.2.zst"
        packed = log.with_name(name)
        packed.write_bytes(pack(old.read_bytes()))
        state = old.stat()
        os.utime(packed, ns=(state.st_atime_ns, state.st_mtime_ns))
        old.unlink()
    second = Run(log, first.mark)
    assert (numbers(second), second.said) == ([3, 4, 5], [])


def test_a_new_log_that_may_not_be_read_is_spoken_of(log: Path) -> None:
    log.write_bytes(numbered(1))
    first = Run(log)
    rotate(log)
    log.mkdir()  # nobody can read it, root neither
    with pytest.raises(SourceFault, match="log cannot be read"):
        Run(log, first.mark)
    script = [log.rmdir, lambda: log.write_bytes(numbered(2)), lambda: None]
    run = Run(log, first.mark, follow=True, script=script)
    assert (numbers(run), run.said) == ([2], [f"{log} cannot be read: waiting"])


def test_a_file_of_another_day_beside_the_log_is_found(log: Path) -> None:
    log.write_bytes(numbered(1))
    first = Run(log)
    append(log, numbered(2))
    rotate(log, "log-20261121")
    log.write_bytes(numbered(3))
    assert numbers(Run(log, first.mark)) == [2, 3]


def test_a_log_that_was_cut_and_grew_past_the_place_begins_anew(log: Path) -> None:
    log.write_bytes(numbered(1, 2))
    first = Run(log)
    append(log, numbered(3))
    copy_and_cut(log)
    append(log, numbered(4, 5, 6, 7))
    second = Run(log, first.mark)
    assert (numbers(second), second.said) == ([3, 4, 5, 6, 7], [])


def test_lines_that_are_nowhere_any_more_are_spoken_of(log: Path) -> None:
    log.write_bytes(numbered(1, 2))
    first = Run(log)
    log.unlink()
    (log.parent / "other").write_bytes(b"takes the inode")
    log.write_bytes(numbered(3))
    second = Run(log, first.mark)
    assert numbers(second) == [3]
    assert f"byte {first.mark.position}" in second.said[0]
    assert second.again == []


def test_a_log_that_became_shorter_is_read_again_as_the_same(log: Path) -> None:
    log.write_bytes(numbered(*range(30)))
    first = Run(log)
    os.truncate(log, len(numbered(*range(20))))
    second = Run(log, first.mark)
    assert (numbers(second), second.again) == (list(range(20)), [0])


def test_a_backup_beside_the_log_is_none_of_its_old_files(log: Path) -> None:
    log.write_bytes(numbered(1))
    first = Run(log)
    rotate(log)
    log.write_bytes(numbered(2))
    for name in ("log.bak", "log.1.new", "logs", "log.json"):
        log.with_name(name).write_bytes(numbered(99))
    assert numbers(Run(log, first.mark)) == [2]


def test_a_compressed_copy_of_the_file_just_read_is_not_read_again(log: Path) -> None:
    log.write_bytes(numbered(1))
    first = Run(log)
    old = rotate(log)
    log.write_bytes(numbered(2))
    for name, text in (
        ("log.1.gz", gzip.compress(old.read_bytes())[:-9]),
        ("log.0.gz", gzip.compress(old.read_bytes())),
    ):
        log.with_name(name).write_bytes(text)
    assert numbers(Run(log, first.mark)) == [2]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_logs_are_read(log: Path, pack: Callable[[bytes], bytes]) -> None:
    log.write_bytes(pack(numbered(1, 2)) + pack(numbered(3)))
    assert numbers(Run(log)) == [1, 2, 3]
    with pytest.raises(SourceFault, match="cannot be followed"):
        Run(log, follow=True)
    log.write_bytes(pack(numbered(*range(500)))[:-9])
    with pytest.raises(SourceFault, match="damaged: it ends too early"):
        Run(log)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_any_place_in_a_compressed_log_is_found_again(
    log: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(numbered(*range(100)))
    first = Run(log)
    log.write_bytes(pack(numbered(*range(103))))
    assert numbers(Run(log, first.mark)) == [100, 101, 102]


def test_a_byte_order_mark_is_no_part_of_the_first_line(log: Path) -> None:
    log.write_bytes(b"\xef\xbb\xbfone\r\n\xef\xbb\xbftwo\r\n")
    assert Run(log).read == [b"one", b"\xef\xbb\xbftwo"]


def test_of_an_endless_line_only_the_beginning_is_kept(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 50)
    monkeypatch.setattr("events.tailing.sources.CHUNK", 16)
    log.write_bytes(b"a" * 333 + b"\nnext\n")
    first = Run(log)
    assert first.read == [b"a" * 50, b"next"]
    append(log, b"last\n")
    assert Run(log, first.mark).read == [b"last"]


@given(
    st.binary().map(lambda raw: raw.replace(b"\0", b"\n")),
    st.lists(st.integers(0, 40)),
)
def test_lines_do_not_depend_on_the_pieces_they_come_in(
    text: bytes, cuts: list[int]
) -> None:
    splitter, found, position = Splitter(), [], 0
    for size in [*cuts, len(text)]:
        found += list(splitter.feed(text[position : position + size]))
        position += size
        assert splitter.seen == min(position, len(text))
    if last := splitter.unfinished():
        found.append(last)
    assert b"".join(line.raw for line in found) == text
    assert all(line.raw.count(b"\n") <= 1 for line in found)
    assert [line.number for line in found] == list(range(1, len(found) + 1))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
        lambda inner: st.dictionaries(
            st.sampled_from(
                ["inode", "position", "number", "head", "tail", "seen", "length"]
            ),
            inner,
        ),
    ).map(orjson.dumps)
    | st.binary()
)
def test_what_is_no_checkpoint_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not a checkpoint"):
        Checkpoint(Path("mark"))._take(raw)


def test_a_checkpoint_is_read_as_it_was_written(log: Path, tmp_path: Path) -> None:
    log.write_bytes(numbered(1, 2))
    mark = Run(log).mark
    Checkpoint(tmp_path / "mark").save(mark, {"digest": 3})
    loaded = Checkpoint.load(tmp_path / "mark")
    assert (loaded.mark, loaded.seen) == (mark, {"digest": 3})
    facts = orjson.loads((tmp_path / "mark").read_bytes())
    faults: list[dict[str, Any]] = [
        {"position": "5"},
        {"number": True},
        {"inode": -1},
        {"inode": 1.5},
        {"position": 2**63},
        {"position": 1},
        {"head": {"length": 2000, "digest": ""}},
        {"head": {"length": 1}},
        {"tail": {"length": 1, "digest": 5}},
        {"seen": {"a": "b"}},
        {"seen": []},
    ]
    for wrong in faults:
        (tmp_path / "mark").write_bytes(orjson.dumps(facts | wrong))
        with pytest.raises(ValueError, match="not a checkpoint"):
            Checkpoint.load(tmp_path / "mark")
