"""The compiled protocol modules are what the .proto files say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("meshmgmt/control/protocol")


def test_the_committed_modules_are_the_compiled_ones(tmp_path):
    subprocess.run(
        [sys.executable, ROOT / "scripts/protos", tmp_path], check=True, cwd=ROOT
    )

    compiled = {path.name: path.read_text() for path in (tmp_path / FOLDER).iterdir()}
    committed = {path.name: path.read_text() for path in (ROOT / FOLDER).glob("*_pb2*")}
    assert compiled.keys() == committed.keys()
    assert [name for name in compiled if compiled[name] != committed[name]] == []
