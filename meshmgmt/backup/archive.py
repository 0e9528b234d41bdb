"""The file of a backup: a zip of one NDJSON member per table, and a manifest.

Each line is a JSON array of the columns that the manifest names, so any tool reads it and
both kinds of database write it. The manifest holds the SHA-256 of each member, and
another member that of the manifest: nothing in the file can change unnoticed. No Django.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import orjson

from meshmgmt.core import files

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
SEAL: Final = "manifest.json.sha256"
LEVEL: Final = 4
CHUNK: Final = 2000
"""Lines written at once, and rows inserted at once: what is kept in memory."""

Watched = Callable[[str, Iterable[Any], int], Iterable[Any]]
"""Wraps the rows of the table named, whose number is known (a progress bar)."""


class BackupError(Exception):
    """The backup or restore is refused; one sentence."""


class Content(msgspec.Struct, frozen=True):
    """A table in the file: its columns in the order of each line, and its lines."""

    columns: tuple[str, ...]
    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a file holds. `schema` names the newest migration of each app.

    `secret_key` is a mark by which the key is known again, not the key.
    """

    format: int
    version: str
    created_at: str
    schema: dict[str, str]
    secret_key: str
    tables: dict[str, Content]


class Sum:
    """Counts and hashes lines."""

    def __init__(self) -> None:
        self.rows = 0
        self._sha = hashlib.sha256()

    def add(self, lines: list[bytes]) -> bytes:
        """Take lines, each with its end; return them as one text."""
        text = b"".join(lines)
        self.rows += len(lines)
        self._sha.update(text)
        return text

    def content(self, columns: tuple[str, ...]) -> Content:
        return Content(columns, self.rows, self._sha.hexdigest())


def chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the items in lists of CHUNK."""
    source = iter(items)
    while found := list(islice(source, CHUNK)):
        yield found


class Writer:
    """Writes members; use `creating`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(
            file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL
        )

    def add(
        self, name: str, columns: tuple[str, ...], lines: Iterable[bytes]
    ) -> Content:
        """Write the lines of a table as they come."""
        total = Sum()
        # Its size is not known before, and zip must be told then of more than 2 GiB.
        with self._zip.open(_member(name), "w", force_zip64=True) as member:
            for found in chunks(lines):
                member.write(total.add(found))
        return total.content(columns)

    def finish(self, manifest: Manifest) -> None:
        text = orjson.dumps(msgspec.to_builtins(manifest), option=orjson.OPT_INDENT_2)
        self._zip.writestr(MANIFEST, text)
        self._zip.writestr(SEAL, hashlib.sha256(text).hexdigest())
        self.close()

    def close(self) -> None:
        self._zip.close()


@contextmanager
def creating(path: Path) -> Iterator[Writer]:
    """Write a new file: it has its name once it is whole and on the disk.

    Raises BackupError when there is a file of that name, or it cannot be written.
    """

    def name(temporary: Path) -> None:
        try:
            path.hardlink_to(temporary)  # unless another backup got the name meanwhile
        except FileExistsError:
            raise
        except OSError:  # not every disk knows hard links
            path.touch(exist_ok=False)
            temporary.replace(path)

    try:
        if path.exists():
            raise FileExistsError
        with files.written(path, name) as file:
            writer = Writer(file)
            try:
                yield writer
            finally:
                with suppress(OSError):
                    writer.close()
    except FileExistsError as error:
        raise BackupError(f"{path} exists already: name another file") from error
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}") from error


def file_sum(path: Path) -> str:
    """Return the SHA-256 of a whole file, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Archive:
    """An open file of a backup; use `opened`."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._zip = file
        text = file.read(MANIFEST)
        if hashlib.sha256(text).hexdigest().encode() != file.read(SEAL):
            raise zipfile.BadZipFile
        found = orjson.loads(text)["format"]
        if found != FORMAT:
            raise BackupError(
                f"the file has format {found}, this version reads {FORMAT}"
            )
        self.manifest = msgspec.json.decode(text, type=Manifest)

    def rows(self, name: str) -> Iterator[list[Any]]:
        """Yield the rows of a table."""
        with self._zip.open(_member(name)) as member:
            yield from map(orjson.loads, member)

    def check(self, watched: Watched) -> None:
        """Read the whole file. Raises as `opened` says when it is not what was written."""
        for name, content in self.manifest.tables.items():
            total = Sum()
            with self._zip.open(_member(name)) as member:
                for found in chunks(watched(name, member, content.rows)):
                    total.add(found)
            if total.content(content.columns) != content:
                raise zipfile.BadZipFile


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Yield the file's content.

    Raises BackupError for a file that cannot be read, is cut or altered, or of another
    format; also out of the block.
    """
    try:
        with zipfile.ZipFile(path) as file:
            yield Archive(file)
    except OSError as error:
        raise BackupError(
            f"{path} cannot be read: {error.strerror or error}"
        ) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,  # a member is not there
        RuntimeError,  # an altered byte calls it encrypted, or compressed as zipfile cannot
        msgspec.MsgspecError,
        orjson.JSONDecodeError,
    ) as error:
        raise BackupError(f"{path} is no whole backup: it is cut or altered") from error


def _member(name: str) -> str:
    return f"{name}.ndjson"
