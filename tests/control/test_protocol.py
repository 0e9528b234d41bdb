"""The compiled protocol modules are what the .proto files say."""

import sys

from meshmgmt.env import BASE_DIR
from tests.programs import ran


def test_the_committed_modules_are_the_compiled_ones(tmp_path):
    ran(sys.executable, "scripts/protos", tmp_path, check=True)

    made, kept = (each / "meshmgmt/control/protocol" for each in (tmp_path, BASE_DIR))
    compiled = {path.name: path.read_text() for path in made.iterdir()}
    committed = {path.name: path.read_text() for path in kept.glob("*_pb2*")}
    assert compiled.keys() == committed.keys()
    assert [name for name in compiled if compiled[name] != committed[name]] == []
