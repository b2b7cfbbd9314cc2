"""The commands of the container image, run in a clean environment without Docker."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import venv
from pathlib import Path

import httpx
import pytest
import yaml

from assess.serving import free_port
from assess_site import make_campaign

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "examples" / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile in order, continued lines as one."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [
        (found[1], found[2]) for line in lines if (found := re.fullmatch(r"([A-Z]+)\s+(.+)", line))
    ]


def of_kind(kind: str) -> list[str]:
    return [given for name, given in instructions() if name == kind]


class Image:
    """A directory that stands for the file system of the image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "env", with_pip=True)
        self.environment = {**os.environ, "PATH": f"{folder / 'env' / 'bin'}:{os.environ['PATH']}"}
        self.environment.pop("PYTHONPATH", None)

    def place(self, command: str) -> str:
        """The command with the paths of the image in the directory."""
        return re.sub(r"(?<![\w./:-])/(source|wheels|data)\b", rf"{self.folder}/\1", command)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", self.place(command)],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """What building the image leaves behind."""
    built = Image(tmp_path_factory.mktemp("image"))
    for given in of_kind("COPY"):
        if given.startswith("--from"):
            continue
        *sources, target = given.split()
        for source in sources:
            place = built.folder / "source" / target
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, place, ignore=ignored)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)
    for command in of_kind("RUN"):
        done = built.run(command)
        assert done.returncode == 0, done.stderr
    return built


def test_the_image_serves_a_campaign_as_compose_starts_it(image: Image) -> None:
    campaign = make_campaign(image.folder / "data")
    campaign.rename(campaign.with_name("water.campaign"))
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    command = compose["services"]["water"]["command"].replace("${ASSESS_HOST:?}", "a.example.org")
    (entry,) = of_kind("ENTRYPOINT")
    port = str(free_port())
    # Nobody but this machine is to reach it.
    command = command.replace("0.0.0.0", "127.0.0.1").replace("8642", port)
    words = [*json.loads(entry), *image.place(command).split()]
    words[0] = str(image.folder / "env" / "bin" / words[0])
    process = subprocess.Popen(
        words, env=image.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        (check,) = of_kind("HEALTHCHECK")
        healthy = check.split("CMD ", 1)[1].replace("8642", port)
        waiting = threading.Event()
        for _ in range(200):
            if image.run(healthy).returncode == 0:
                break
            waiting.wait(0.1)
        else:
            pytest.fail(f"not healthy: {process.poll()}")
        headers = {"Host": "a.example.org", "X-Forwarded-For": "192.0.2.7"}
        page = httpx.get(f"http://127.0.0.1:{port}/water/login", headers=headers)
        assert page.status_code == 200
        assert 'href="/water/static/base.css"' in page.text
        assert "Path=/water/; SameSite=strict; Secure" in page.headers["set-cookie"]
        style = httpx.get(f"http://127.0.0.1:{port}/water/static/base.css", headers=headers)
        assert style.status_code == 200
        assert httpx.get(f"http://127.0.0.1:{port}/water/login").status_code == 400
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_the_health_check_finds_a_server_that_is_not_there(image: Image) -> None:
    (check,) = of_kind("HEALTHCHECK")
    assert image.run(check.split("CMD ", 1)[1].replace("8642", str(free_port()))).returncode != 0


def test_the_default_command_tells_what_there_is(image: Image) -> None:
    (entry,), (command,) = of_kind("ENTRYPOINT"), of_kind("CMD")
    done = image.run(" ".join([*json.loads(entry), *json.loads(command)]))
    assert done.returncode == 0
    assert "serve" in done.stdout


def test_proxy_and_services_agree() -> None:
    """Names, ports, paths and networks occur in several files."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    caddy = (DEPLOY / "Caddyfile").read_text()
    (network,) = compose["networks"]["inside"]["ipam"]["config"]
    campaigns = {name: s for name, s in compose["services"].items() if name != "proxy"}
    for name, service in campaigns.items():
        command = service["command"]
        assert f"--proxy {network['subnet']} --root-path /{name}" in command
        assert f"handle /{name}* {{\n\t\treverse_proxy {name}:8642" in caddy
    assert set(compose["services"]["proxy"]["depends_on"]) == set(campaigns)
    assert of_kind("EXPOSE") == ["8642"]
    assert sys.version_info[:2] <= tuple(
        int(part) for part in re.findall(r"\d+", of_kind("FROM")[0])[:2]
    )
