"""The files for containers name what is there; no tool that reads them runs everywhere."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from django.core.management import get_commands

from meshmgmt import env
from meshmgmt.env import BASE_DIR

FOLDER = BASE_DIR / "deploy" / "container"
CONTAINERFILE = re.sub(r"\\\n\s*", "", (FOLDER / "Containerfile").read_text())
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
SERVICE: dict[str, Any] = COMPOSE["services"]["service"]


def instructions(name: str) -> list[str]:
    """Return the arguments of an instruction, wherever it stands."""
    return re.findall(rf"^{name} (.*)$", CONTAINERFILE, re.MULTILINE)


def settings() -> dict[str, str]:
    """Return the settings that the image and the composition make together."""
    [line] = instructions("ENV")
    image = dict(word.split("=", 1) for word in line.split())
    return {
        name: value
        for name, value in {**image, **SERVICE["environment"]}.items()
        if name.startswith("SVC_")
    }


def test_every_instruction_is_one():
    known = "FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK CMD"
    lines = [line for line in CONTAINERFILE.splitlines() if line and line[0] != "#"]
    assert {line.split()[0] for line in lines} <= {*known.split()}
    assert CONTAINERFILE.count("\nFROM ") == 2


def test_what_is_copied_exists_and_is_let_into_the_context():
    ignored = (FOLDER / "Containerfile.dockerignore").read_text().splitlines()
    copied = {
        word
        for line in instructions("COPY")
        if not line.startswith("--from")
        for word in line.split()[:-1]
    }
    for name in copied:
        assert (BASE_DIR / name).exists()
        assert f"!{name}" in ignored
    rooms = {path.parent.name for path in BASE_DIR.glob("*/room.py")}
    assert rooms | {"meshmgmt", "templates", "requirements"} <= copied


def test_settings_of_the_container_are_settings_of_the_service(tmp_path: Path):
    given = settings()
    secret = given["SVC_DATABASE_URL_FILE"].removeprefix("/run/secrets/")
    assert secret in COMPOSE["secrets"]
    (tmp_path / secret).write_text("postgresql://meshmgmt:x@database:5432/meshmgmt")
    given["SVC_DATABASE_URL_FILE"] = str(tmp_path / secret)
    config = env.load(given)
    assert config.database_url.startswith("postgresql://")
    mounts = [*SERVICE["volumes"], *SERVICE["tmpfs"]]
    for folder in (config.data_dir, config.runtime_dir):
        assert [mount for mount in mounts if str(folder) in mount]
    ports = {config.bind, f":{config.metrics_port}", config.grpc_bind}
    [exposed] = instructions("EXPOSE")
    assert {port.rpartition(":")[2] for port in ports} == {*exposed.split()}
    published = {port.rpartition(":")[2] for port in SERVICE["ports"]}
    assert published == {*exposed.split()}
    assert all(port.startswith("127.0.0.1:") for port in SERVICE["ports"])


def test_the_container_runs_commands_and_is_asked_whether_it_is_ready():
    [command] = map(json.loads, re.findall(r"^CMD (.*)$", CONTAINERFILE, re.MULTILINE))
    commands = re.findall(r"meshmgmt (\w+)", command[-1])
    assert commands == ["migrate", "serve"]
    assert {*commands} <= {*get_commands()}
    [check] = instructions("HEALTHCHECK")
    assert "/readyz" in check
    assert instructions("USER") == ["10001:10001"]
