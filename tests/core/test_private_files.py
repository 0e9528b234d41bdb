"""What the service keeps on disk is readable for its own user alone."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from meshmgmt import settings
from tests.programs import ran
from tests.runfolder import clean_environ


def manage(data: Path, *arguments: str, **more: str) -> None:
    environ = clean_environ() | {"SVC_DATA_DIR": str(data), **more}
    command = (sys.executable, "manage.py", *arguments)
    ran(*command, check=True, env=environ, umask=0o022)


def secret_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    svc = replace(settings.SVC, data_dir=folder, secret_key="")
    monkeypatch.setattr(settings, "SVC", svc)
    return settings._secret_key()


def test_a_secret_key_has_its_name_once_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: list[bool] = []
    monkeypatch.setattr(
        "os.fsync", lambda file: synced.append((tmp_path / "secret_key").exists())
    )
    made = secret_key(tmp_path, monkeypatch)
    assert synced == [False, True]  # the key, then the folder with its name
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
    assert secret_key(tmp_path, monkeypatch) == made


def test_a_new_data_folder_is_closed_to_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    secret_key(tmp_path / "data", monkeypatch)
    assert modes(tmp_path / "data") == {"data": "0o700", "secret_key": "0o600"}


def test_a_secret_key_that_an_editor_of_windows_wrote_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "secret_key").write_text("\ufeffhush", encoding="utf-8")
    assert secret_key(tmp_path, monkeypatch) == "hush"


def modes(folder: Path) -> dict[str, str]:
    found = {folder, *folder.rglob("*")}
    return {path.name: oct(path.stat().st_mode & 0o777) for path in found}


@pytest.mark.slow
def test_new_files_and_those_made_before_are_closed_to_others(tmp_path: Path):
    data = tmp_path / "data"
    manage(data, "migrate", "--verbosity", "0")
    assert all(mode in {"0o700", "0o600"} for mode in modes(data).values()), modes(data)
    for path in (data, data / "db.sqlite3", data / "secret_key"):
        path.chmod(0o777)
    manage(data, "check")
    assert modes(data)["data"] == "0o700"
    assert modes(data)["db.sqlite3"] == modes(data)["secret_key"] == "0o600"


@pytest.mark.slow
def test_a_folder_that_others_only_look_into_stays_open_and_files_closed(
    tmp_path: Path,
):
    tmp_path.chmod(0o755)
    database = tmp_path / "mesh.db"
    database.touch(mode=0o644)
    manage(tmp_path, "check", SVC_DATABASE_URL=f"sqlite:///{database}")
    assert modes(database) == {"mesh.db": "0o600"}
    assert modes(tmp_path)[tmp_path.name] == "0o755"
    assert modes(tmp_path / "secret_key") == {"secret_key": "0o600"}


@pytest.mark.slow
def test_a_folder_of_everybodys_files_is_refused(tmp_path: Path):
    tmp_path.chmod(0o1777)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        manage(tmp_path, "check")
    assert "SVC_DATA_DIR: everybody may put files into" in refused.value.stderr
    assert "Traceback" not in refused.value.stderr
    assert modes(tmp_path) == {tmp_path.name: "0o777"}
