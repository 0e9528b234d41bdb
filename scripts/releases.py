"""What the scripts that build releases share."""

import hashlib
import io
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).resolve().parent.parent
SUMS: Final = "SHA256SUMS"
Packages: TypeAlias = list[metadata.Distribution]


def git(*words: str) -> bytes:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


def take_out(folder: Path) -> int:
    """Write what is committed into a folder; return when it was committed."""
    if git("status", "--porcelain", "--untracked-files=no"):
        print("what is not committed is left out")
    with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as archive:
        archive.extractall(folder, filter="data")
    return int(git("log", "-1", "--format=%ct"))


def locked(source: Path) -> Packages:
    """Return the run-time packages that this platform needs, as installed here."""
    found = []
    lock_file = source / "requirements" / "base.txt"
    for line in lock_file.read_text(encoding="utf-8").splitlines():
        if line[:1].strip(" #"):
            wanted = Requirement(line.removesuffix("\\"))
            if wanted.marker is None or wanted.marker.evaluate():
                package = metadata.distribution(wanted.name)
                if package.version not in wanted.specifier:
                    sys.exit(f"{package.name} {package.version} is not the locked one")
                found.append(package)
    return found


def sum_up(folder: Path) -> None:
    """Write and print the checksums of all files of a folder."""
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    )
    (folder / SUMS).write_text(sums, encoding="utf-8")
    print(sums, end="")
